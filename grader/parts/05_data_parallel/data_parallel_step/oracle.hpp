// Computes what the replicas should end ten steps with. One device plays all ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/asked.hpp"
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

struct StepTrained {
  std::vector<double> parameters;           // flat
  std::vector<std::vector<double>> losses;  // [rank][step]
};

// Trains all ranks' samples on one device.
//   taken  the steps that are taken
StepTrained train(const StepProblem& problem, std::uint64_t salt, std::int64_t taken = steps);

}  // namespace lockstep::grader::data_parallel_step
