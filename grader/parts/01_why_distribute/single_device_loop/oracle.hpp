// Computes what one device ends with and returns, for the right loop and for loops with one of the
// usual mistakes.
#pragma once

#include <string>
#include <vector>

#include "grader/exam/asked.hpp"
#include "grader/exam/odd_values.hpp"
#include "grader/parts/01_why_distribute/single_device_loop/case.hpp"

namespace lockstep::grader::single_device_loop {

inline constexpr std::int64_t width = 6, classes = 4;

struct LoopProblem {
  Members members{};  // one
  std::int64_t samples = 23, batch = 5;
  int epochs = 3;
  OptimizerKind optimizer = OptimizerKind::momentum;
  DType dtype = DType::float64;
  bool easy = false;     // labels that are soon learnt, so the loss becomes small
  bool turning = false;  // every epoch has other labels than the one before, so the loss rises
  Odd odd = Odd::none;   // what the samples hold
  std::uint64_t model_seed = 0, schedule_seed = 0;

  std::string description() const;
};

// The epoch's batches. Every epoch has its own order; a batch is never seen before it is served.
std::vector<SampleValues> batches_of(const LoopProblem& problem, std::uint64_t salt, int epoch);

// How this loop usually goes wrong in what it does to the parameters …
enum class LoopVariant : std::uint8_t {
  right,
  no_zero,
  step_before_backward,
  step_once_an_epoch,
  last_batch_left_out,
  even_batches_only,
  odd_batches_only,
  steps_twice,
  unmoved
};
// … and in the loss it returns for an epoch.
enum class LoopMean : std::uint8_t {
  over_samples,
  over_batches,
  last_batch,
  first_batch,
  sum_of_batches,
  over_all_epochs,
  after_the_update
};

struct LoopTrained {
  std::vector<double> parameters;  // flat
  std::vector<double> losses;      // of the epochs
};

LoopTrained train(const LoopProblem& problem, std::uint64_t salt, LoopVariant variant,
                  LoopMean mean);

}  // namespace lockstep::grader::single_device_loop
