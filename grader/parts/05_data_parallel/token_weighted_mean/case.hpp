// The case format of token_weighted_mean, shared by adapter and exam.
#pragma once

#include "engine/parallel/data_parallel/token_weighted_mean.hpp"
#include "grader/play/gradients.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// One call; a case has several, one after the other.
struct WeightedCall {
  data_parallel::LossSum loss;
  Gradients mine;
};

struct WeightedCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  std::vector<WeightedCall> calls;
};

// The state of a rank after a call.
struct WeightedReport {
  double loss = 0;
  GradientReports gradients;
};

template <typename Archive>
void fields(Archive& archive, WeightedCall& call) {
  archive(call.loss.sum, call.loss.counted, call.loss.padded, call.mine);
}
template <typename Archive>
void fields(Archive& archive, WeightedCase& c) {
  archive(c.group, c.peer, c.calls);
}
template <typename Archive>
void fields(Archive& archive, WeightedReport& report) {
  archive(report.loss, report.gradients);
}

}  // namespace lockstep::grader
