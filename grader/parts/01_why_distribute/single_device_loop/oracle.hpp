// Computes what one device ends with and returns.
#pragma once

#include <string>
#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/asked.hpp"
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
  std::uint64_t schedule_seed = 0;

  std::string description() const;
};

// The epoch's batches. Every epoch has its own order; a batch is never seen before it is served.
std::vector<SampleValues> batches_of(const LoopProblem& problem, std::uint64_t salt, int epoch);

struct LoopTrained {
  std::vector<double> parameters;  // flat
  std::vector<double> losses;      // of the epochs
};

LoopTrained train(const LoopProblem& problem, std::uint64_t salt);

std::uint64_t model_seed(std::uint64_t salt);
// The parameters before the first step.
std::vector<double> beginning_of(const LoopProblem& problem, std::uint64_t salt);

}  // namespace lockstep::grader::single_device_loop
