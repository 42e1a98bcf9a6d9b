// Computes what replicas with uneven inputs should have after each step. One device plays all
// ranks.
#pragma once

#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/asked.hpp"
#include "grader/parts/07_ddp/join_uneven_inputs/case.hpp"

namespace lockstep::grader::join_uneven_inputs {

inline constexpr std::int64_t width = 6, hidden = 8, classes = 4;
inline constexpr std::int64_t elements = width * hidden + hidden + hidden * classes + classes;

using Steps = std::vector<std::int64_t>;  // by rank

struct JoinProblem {
  Members members = whole_world(2);
  std::vector<Steps> epochs;  // the steps for which each rank has batches
  ddp::JoinDivide divide = ddp::JoinDivide::initial;
  std::int64_t micro_batches = 1;
  DType dtype = DType::float64;
  std::uint64_t schedule_seed = 0;
  std::uint8_t has_buffer = 0;
  Odd odd = Odd::none;  // what the last rank's samples hold

  int ranks() const { return members.size(); }
  std::int64_t most(std::size_t epoch) const;  // steps of an epoch
  // Ranks that have batches in a step of an epoch.
  std::int64_t live(std::size_t epoch, std::int64_t step) const;
  // The largest rank among those with most steps.
  std::int64_t last(std::size_t epoch) const;
  std::string description() const;
};

// The case of rank `rank`. The other ranks' samples stay with the judge.
JoinCase case_of(const JoinProblem& problem, std::uint64_t salt, int rank);

// By epoch: the parameters before its first step and after each, flat.
using Path = std::vector<std::vector<std::vector<double>>>;

Path train(const JoinProblem& problem, std::uint64_t salt);

}  // namespace lockstep::grader::join_uneven_inputs
