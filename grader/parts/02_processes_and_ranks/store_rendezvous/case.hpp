// The case format of store_rendezvous, shared by adapter and exam, and what the adapter tells the
// judge while it plays: that it calls, and what came of it.
#pragma once

#include "engine/comm/endpoint.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/part.hpp"

namespace lockstep::comm {

template <typename Archive>
void fields(Archive& archive, Endpoint& endpoint) {
  archive(endpoint.host, endpoint.port);
}

}  // namespace lockstep::comm

namespace lockstep::grader {

// One call of the part by one rank.
struct Meeting {
  double after_s = 0;  // since the meeting before
  int attempt = 0;
  int size = 1;
  comm::Endpoint mine;
  double timeout_s = 0;
  bool comes = true;  // false: this rank misses it
};

// The case of one rank.
struct MeetingCase {
  double store_timeout_s = 30;
  std::vector<Meeting> meetings;
};

struct MeetingReport {
  static constexpr const char* service = "meetings";
  enum class Kind : std::uint8_t {
    calls,
    returned,
    ranks_missing,
    usage_error,
    comm_error,
    other_error,
  };
  Kind kind = Kind::calls;
  std::uint32_t step = 0;                   // which meeting
  std::vector<comm::Endpoint> addresses{};  // returned
  std::vector<int> missing{};               // ranks_missing
  std::string what{};                       // of an error
};

template <typename Archive>
void fields(Archive& archive, Meeting& m) {
  archive(m.after_s, m.attempt, m.size, m.mine, m.timeout_s, m.comes);
}
template <typename Archive>
void fields(Archive& archive, MeetingCase& c) {
  archive(c.store_timeout_s, c.meetings);
}
template <typename Archive>
void fields(Archive& archive, MeetingReport& report) {
  archive(report.kind, report.step, report.addresses, report.missing, report.what);
}
inline void check_fields(MeetingReport& report) {
  check_report(report, MeetingReport::Kind::other_error);
  for (auto& address : report.addresses) address.host = sim::printable(address.host, 80);
}

}  // namespace lockstep::grader
