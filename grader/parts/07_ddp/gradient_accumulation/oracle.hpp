// Computes what the replicas should end with. One device plays all ranks.
#pragma once

#include <optional>
#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/asked.hpp"
#include "grader/parts/07_ddp/gradient_accumulation/case.hpp"

namespace lockstep::grader::gradient_accumulation {

inline constexpr std::int64_t width = 6, hidden = 8, classes = 4;
inline constexpr std::int64_t elements = width * hidden + hidden + hidden * classes + classes;

using Sizes = std::vector<std::int64_t>;  // samples of the micro-batches of a step

struct AccumulationProblem {
  Members members = whole_world(2);
  std::vector<Sizes> steps;
  std::vector<std::int64_t> lengths{};  // as in AccumulationCase
  OptimizerKind optimizer = OptimizerKind::momentum;
  DType dtype = DType::float64;
  std::uint64_t schedule_seed = 0;
  Odd odd = Odd::none;  // what the last rank's samples hold

  int ranks() const { return members.size(); }
  std::string description() const;
};

// The labels of each micro-batch of a step.
Sizes labels_of(const AccumulationProblem& problem, std::size_t step);

// The case of rank `rank`. The other ranks' samples stay with the judge.
AccumulationCase case_of(const AccumulationProblem& problem, std::uint64_t salt, int rank);

struct Trained {
  std::vector<double> parameters;           // flat
  std::vector<std::vector<double>> losses;  // of each step: by micro-batch, the mean over the ranks
};

//   without  a micro-batch that is left out of the last step
Trained train(const AccumulationProblem& problem, std::uint64_t salt,
              std::optional<std::size_t> without = std::nullopt);

}  // namespace lockstep::grader::gradient_accumulation
