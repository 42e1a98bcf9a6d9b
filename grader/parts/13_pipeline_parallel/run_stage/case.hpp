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
}  // namespace lockstep::pipeline

namespace lockstep::grader {

struct StageCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  pipeline::Plan plan{};
  std::vector<double> weights{};
  ChainShare share{};  // without its matrices, which are the judge's
  int fails_at = -1;   // the number of the pass in which the stage throws; -1: none
};

// A pass is run by the judge: it is given the numbers that the pass needs (none for the second half
// of a backward pass), and answers after the pass's time with those that it makes. Without waiting
// for them, no stage can go on.
struct PassCall {
  static constexpr const char* service = "passes";
  pipeline::Action action{};
  std::vector<double> numbers{};
  std::int64_t held_bytes = 0;  // of the part's tensors; advice (decision 0055)
};
struct PassAnswer {
  std::vector<double> numbers{};
};

struct StageReport {
  std::vector<double> loss{};  // its elements; empty: undefined
  bool threw = false;          // what the stage had thrown
};

template <typename Archive>
void fields(Archive& archive, StageCase& c) {
  archive(c.group, c.peer, c.plan, c.weights, c.share, c.fails_at);
}
template <typename Archive>
void fields(Archive& archive, PassCall& call) {
  archive(call.action, call.numbers, call.held_bytes);
}
template <typename Archive>
void fields(Archive& archive, PassAnswer& answer) {
  archive(answer.numbers);
}
template <typename Archive>
void fields(Archive& archive, StageReport& report) {
  archive(report.loss, report.threw);
}

}  // namespace lockstep::grader
