// Which of the usual mistakes gives the numbers that a rank has instead of the right ones: nearly
// every mistake here is another weight of the same sums.
#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "grader/exam/ranks/gradient_rules.hpp"

namespace lockstep::grader::token_weighted_mean {

// One call: how many positions each rank of the group has.
struct Round {
  std::vector<std::int64_t> counted, padded;
  double loss_scale = 1;  // of every rank's loss

  std::int64_t total() const {
    return std::accumulate(counted.begin(), counted.end(), std::int64_t{0});
  }
};

// The sums of all ranks, each by a weight of its own: right and wrong answers alike.
using Weights = std::vector<double>;
std::vector<double> weighted(const std::vector<std::vector<double>>& sums, const Weights& weights);

// Why rank `self` may have `seen` instead of the mean of the ranks' `sums`.
Cause likely_cause(const Round& round, int self, std::span<const double> seen,
                   const std::vector<std::vector<double>>& sums);

}  // namespace lockstep::grader::token_weighted_mean
