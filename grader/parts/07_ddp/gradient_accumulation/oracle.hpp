// Computes what the replicas should end with, and what they end with if accumulation has one of the
// usual mistakes. One device plays all ranks.
#pragma once

#include <vector>

#include "grader/exam/asked.hpp"
#include "grader/exam/odd_values.hpp"
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

// How one device accumulates: rightly, or in one of the usual wrong variants.
enum class Variant : std::uint8_t {
  right,
  undivided,       // each micro-batch counts as 1
  equal_shares,    // as 1/k
  first_k,         // as 1/k of the first step
  by_labels,       // as its number of labels
  by_samples,      // as its share of the samples
  last_only,       // the last one alone
  first_only,      // the first one alone
  without_last,    // all but the last
  without_this,    // in the last step, all but that of this number
  no_average,      // one rank's own
  steps_each,      // an update after each micro-batch, on what has added up
  separate_steps,  // an update after each micro-batch, on its own gradient
  no_zero,         // grads of earlier steps stay
  zero_last,       // those from before the first step are added to it
  unmoved,
};

struct Trained {
  std::vector<double> parameters;           // flat
  std::vector<std::vector<double>> losses;  // of each step: by micro-batch, the mean over the ranks
};

//   rank  whose samples no_average uses; for without_this, the number of a micro-batch
Trained train(const AccumulationProblem& problem, std::uint64_t salt, Variant variant, int rank);

}  // namespace lockstep::grader::gradient_accumulation
