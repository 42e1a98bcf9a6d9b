// The case format of store_rendezvous, shared by adapter and exam, and what the adapter tells the
// judge while it plays: that it calls, and what came of it.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/comm/endpoint.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

inline void write(ByteWriter& out, const comm::Endpoint& endpoint) {
  out.put_text(endpoint.host).put(endpoint.port);
}
inline comm::Endpoint read_endpoint(ByteReader& in) {
  comm::Endpoint endpoint;
  endpoint.host = in.get_text();
  endpoint.port = in.get<int>();
  return endpoint;
}

// One call of the part by one rank.
struct Meeting {
  double after_s = 0;  // since the meeting before
  int attempt = 0;
  int size = 1;
  comm::Endpoint mine;
  double timeout_s = 0;
  std::uint8_t comes = 1;  // 0: this rank misses it
};

// What one rank does.
struct MeetingCase {
  double store_timeout_s = 30;
  std::vector<Meeting> meetings;
};

inline Bytes encode(const MeetingCase& c) {
  ByteWriter out;
  out.put(c.store_timeout_s).put(static_cast<std::uint32_t>(c.meetings.size()));
  for (const Meeting& m : c.meetings) {
    out.put(m.after_s).put(m.attempt).put(m.size).put(m.timeout_s).put(m.comes);
    write(out, m.mine);
  }
  return out.take();
}

inline MeetingCase decode_meeting_case(ByteReader& in) {
  MeetingCase c;
  c.store_timeout_s = in.get<double>();
  c.meetings.resize(in.get<std::uint32_t>());
  for (Meeting& m : c.meetings) {
    m.after_s = in.get<double>();
    m.attempt = in.get<int>();
    m.size = in.get<int>();
    m.timeout_s = in.get<double>();
    m.comes = in.get<std::uint8_t>();
    m.mine = read_endpoint(in);
  }
  return c;
}

// The service "meetings": told what a rank does. Answers nothing.
inline constexpr const char* meetings_service = "meetings";
struct MeetingReport {
  enum class Kind : std::uint8_t {
    calls,
    returned,
    ranks_missing,
    usage_error,
    comm_error,
    other_error,
  };
  Kind kind = Kind::calls;
  std::uint32_t meeting = 0;
  std::vector<comm::Endpoint> addresses{};  // returned
  std::vector<int> missing{};               // ranks_missing
  std::string what{};                       // of an error
};

inline Bytes encode(const MeetingReport& report) {
  ByteWriter out;
  out.put(report.kind).put(report.meeting).put_text(report.what);
  out.put_list(std::span<const int>(report.missing));
  out.put(static_cast<std::uint32_t>(report.addresses.size()));
  for (const auto& address : report.addresses) write(out, address);
  return out.take();
}

inline MeetingReport decode_meeting_report(ByteReader& in) {
  MeetingReport report;
  report.kind = in.get<MeetingReport::Kind>();
  if (report.kind > MeetingReport::Kind::other_error) throw MalformedMessage("no kind of report");
  report.meeting = in.get<std::uint32_t>();
  report.what = in.get_text();
  report.missing = in.get_list<int>();
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) report.addresses.push_back(read_endpoint(in));
  return report;
}

}  // namespace lockstep::grader
