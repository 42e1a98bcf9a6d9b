// What the test of the family of ranks and its player share: members sum up numbers, which the
// judge serves.
#pragma once

#include "grader/play/ask.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct SummingCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  std::int64_t which = 0;        // of the judge's numbers is this rank's; 13: it adds one too much
  std::vector<double> beside{};  // that nobody looks at
};

// Answered with the number, a double.
struct NumberCall {
  static constexpr const char* service = "numbers";
  std::int64_t which = 0;
};

struct SummingReport {
  std::vector<double> sums;  // one
};

template <typename Archive>
void fields(Archive& archive, SummingCase& c) {
  archive(c.group, c.peer, c.which, c.beside);
}
template <typename Archive>
void fields(Archive& archive, NumberCall& call) {
  archive(call.which);
}
template <typename Archive>
void fields(Archive& archive, SummingReport& report) {
  archive(report.sums);
}

}  // namespace lockstep::grader
