// What the replicas of ten steps should end with, and what they end with when the step has one of
// the usual mistakes: one device plays all ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "grader/exam/members.hpp"
#include "grader/play/step_case.hpp"

namespace lockstep::grader::data_parallel_step {

inline constexpr std::int64_t steps = 10;
inline constexpr std::int64_t width = 6, classes = 4;

struct StepProblem {
  Members members = whole_world(2);
  std::int64_t batch = 3;
  OptimizerKind optimizer = OptimizerKind::momentum;
  double clip_norm = 0;
  DType dtype = DType::float64;
  bool unused = false;  // a parameter takes no part in forward
  std::uint64_t schedule_seed = 0;

  int ranks() const { return members.size(); }
  std::string description() const;
};

// What rank `rank` is given. The other ranks' samples stay with the judge.
StepCase case_of(const StepProblem& problem, std::uint64_t salt, int rank);

// What one device ends with, in each of the ways this step usually goes wrong.
enum class StepWay : std::uint8_t {
  right,
  no_average,
  summed,
  divided_twice,
  clip_before,
  not_clipped,
  stale_by_one,
  no_zero,
  zero_last,
  unmoved,
  loss_after,  // right, but the losses are those after the update
};

struct StepTrained {
  std::vector<double> parameters;           // flat
  std::vector<std::vector<double>> losses;  // [rank][step]
};

// Trains all ranks' samples on one device. For StepWay::no_average the result is rank 0's alone.
StepTrained train(const StepProblem& problem, std::uint64_t salt, StepWay way);

// The other usual mistake: every rank steps with its own gradient, and the parameters are averaged
// afterwards. Equal to the right way for SGD, with momentum too, since all of it is linear in the
// gradient; not for Adam or with clipping.
std::vector<double> train_averaging_parameters(const StepProblem& problem, std::uint64_t salt);

}  // namespace lockstep::grader::data_parallel_step
