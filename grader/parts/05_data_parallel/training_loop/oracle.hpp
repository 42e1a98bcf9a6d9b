// Computes what the replicas of one training should read, log and end with. One device plays all
// ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "grader/exam/ranks/dataset_service.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/parts/05_data_parallel/training_loop/case.hpp"

namespace lockstep::grader::training_loop {

struct LoopProblem {
  Members members = whole_world(2);
  std::int64_t samples = 24, batch = 4;  // of a rank
  int epochs = 2;
  OptimizerKind optimizer = OptimizerKind::momentum;
  double clip_norm = 0;
  double rate = 0;  // the schedule's base; 0: a usual one
  DType dtype = DType::float64;
  std::uint64_t schedule_seed = 0;
  double log_s = 0;     // what writing a line of the log takes
  Odd odd = Odd::none;  // what the samples hold

  int ranks() const { return members.size(); }
  std::int64_t steps_in_epoch() const {
    const std::int64_t each = (samples + ranks() - 1) / ranks();
    return (each + batch - 1) / batch;
  }
  std::string description() const;
};

// One training: what the judge drew for it.
struct DrawnLoop {
  LoopProblem problem;
  std::uint64_t salt = 0;

  HiddenSamples samples() const;
  std::uint64_t model_seed(int rank) const;  // a rank learns its own only
  TrainingLoopCase case_of(int rank) const;
  // Batch by batch, over all epochs.
  std::vector<std::vector<std::int64_t>> reads_of(int rank) const;
};

struct LoopTrained {
  std::vector<double> numbers;                 // parameters and buffers, flat, of rank 0
  std::vector<double> losses;                  // mean over the ranks, by step
  std::vector<std::vector<double>> losses_of;  // [rank][step]
};
// The numbers of rank 0's replica before any step.
std::vector<double> beginning_of(const DrawnLoop& drawn);

// Mean loss of each epoch, from the losses of its steps.
std::vector<double> epoch_losses(const LoopProblem& problem, std::span<const double> of_steps);

LoopTrained train_on_one_device(const DrawnLoop& drawn);

}  // namespace lockstep::grader::training_loop
