// The case format of run_stage, shared by adapter and exam.
#pragma once

#include "grader/play/chain_play.hpp"
#include "grader/play/part.hpp"
#include "grader/play/schedule_play.hpp"

namespace lockstep::pipeline {

template <typename Archive>
void fields(Archive& archive, Plan& plan) {
  archive(plan.stages, plan.chunks, plan.micro_batches, plan.actions);
}
template <typename Archive>
void fields(Archive& archive, PassCosts& costs) {
  archive(costs.forward_s, costs.backward_s, costs.input_gradient_s, costs.weight_gradient_s);
}

}  // namespace lockstep::pipeline

namespace lockstep::grader {

struct StageCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  pipeline::Plan plan{};
  std::vector<double> weights{};
  pipeline::PassCosts costs{};
  ChainShare share{};
  int fails_at = -1;  // the number of the pass in which the stage throws; -1: none
};

struct StageReport {
  std::vector<pipeline::Action> passes{};        // as they were run
  std::int64_t held_bytes_max = 0;               // tensors of the part when a pass began
  std::vector<std::vector<double>> gradients{};  // by chunk
  std::vector<double> loss{};                    // its elements; empty: undefined
  bool threw = false;                            // what the stage had thrown
};

template <typename Archive>
void fields(Archive& archive, StageCase& c) {
  archive(c.group, c.peer, c.plan, c.weights, c.costs, c.share, c.fails_at);
}
template <typename Archive>
void fields(Archive& archive, StageReport& report) {
  archive(report.passes, report.held_bytes_max, report.gradients, report.loss, report.threw);
}

}  // namespace lockstep::grader
