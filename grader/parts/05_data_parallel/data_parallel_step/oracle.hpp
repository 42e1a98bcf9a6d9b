// Computes what the replicas should end ten steps with, and what they end with if the step has one
// of the usual mistakes. One device plays all ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "grader/exam/asked.hpp"
#include "grader/exam/odd_values.hpp"
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
  Odd odd = Odd::none;  // what the last rank's samples hold
  std::uint64_t schedule_seed = 0;

  int ranks() const { return members.size(); }
  std::string description() const;
};

// The case of rank `rank`. The other ranks' samples stay with the judge.
StepCase case_of(const StepProblem& problem, std::uint64_t salt, int rank);

// How one device takes the step: rightly, or in one of the usual wrong variants.
enum class StepVariant : std::uint8_t {
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

// Trains all ranks' samples on one device. For StepVariant::no_average, the result is rank 0's
// alone.
//   taken  the steps that are taken
StepTrained train(const StepProblem& problem, std::uint64_t salt, StepVariant variant,
                  std::int64_t taken = steps);

// The other usual mistake: every rank steps with its own gradient, and the parameters are averaged
// afterwards. Equal to the right way for SGD, with momentum too, since all of it is linear in the
// gradient; not for Adam or with clipping.
std::vector<double> train_averaging_parameters(const StepProblem& problem, std::uint64_t salt);

}  // namespace lockstep::grader::data_parallel_step
