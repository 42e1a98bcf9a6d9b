// The case format of negotiate, shared by adapter and exam.
#pragma once

#include "engine/parallel/horovod/negotiate.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/play/part.hpp"

namespace lockstep::horovod {

template <typename Archive>
void fields(Archive& archive, Response& response) {
  archive(response.name, response.verdict, response.why);
}
inline void check_fields(Response& response) {
  if (response.verdict > Verdict::stalled) throw MalformedMessage("no kind of response");
  response.name = sim::printable(response.name, 100);
  response.why = sim::printable(response.why, 600);
}

}  // namespace lockstep::horovod

namespace lockstep::grader {

// A gradient that is ready on a rank.
struct AskedGradient {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  double waited_s = 0;
};
template <typename Archive>
void fields(Archive& archive, AskedGradient& one) {
  archive(one.name, one.dtype, one.shape, one.waited_s);
}

// The input of one rank to one round.
struct Brought {
  std::vector<AskedGradient> ready;
  double stall_limit_s = 60;
  horovod::Outlook outlook = horovod::Outlook::goes_on;
};
template <typename Archive>
void fields(Archive& archive, Brought& brought) {
  archive(brought.ready, brought.stall_limit_s, brought.outlook);
}

struct NegotiateCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  std::vector<Brought> rounds;
};
template <typename Archive>
void fields(Archive& archive, NegotiateCase& c) {
  archive(c.group, c.peer, c.rounds);
}

struct NegotiateReport {
  std::vector<std::vector<horovod::Response>> rounds;
};
template <typename Archive>
void fields(Archive& archive, NegotiateReport& report) {
  archive(report.rounds);
}

}  // namespace lockstep::grader
