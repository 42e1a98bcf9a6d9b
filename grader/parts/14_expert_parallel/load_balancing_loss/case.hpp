// The case format of load_balancing_loss, shared by adapter and exam.
#pragma once

#include "engine/parallel/expert/load_balancing_loss.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct BalancingCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;
  std::vector<std::int64_t> shape{};  // [T, E], or one that is to be refused
  Bytes probabilities{};
  std::vector<std::int64_t> first_choices{};
  double alpha = 0;
  bool refused = false;  // the part has to say that something does not fit
};
struct BalancingReport {
  Ending ending{};  // of a call that is to be refused
  double loss = 0;
  DType dtype = DType::float64;       // of the gradient
  std::vector<std::int64_t> shape{};  // of the gradient; empty: there is none
  Bytes gradient{};
  bool changed = false;  // the probabilities
};

template <typename Archive>
void fields(Archive& archive, BalancingCase& c) {
  archive(c.group, c.peer, c.dtype, c.shape, c.probabilities, c.first_choices, c.alpha, c.refused);
}
template <typename Archive>
void fields(Archive& archive, BalancingReport& report) {
  archive(report.ending, report.loss, report.dtype, report.shape, report.gradient, report.changed);
}

}  // namespace lockstep::grader
