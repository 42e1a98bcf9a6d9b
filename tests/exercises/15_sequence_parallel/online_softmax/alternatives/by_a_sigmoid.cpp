// The share of the block is a sigmoid of the difference of log-sums, and the output moves towards
// the block's by it. A query without a key has the share 0 or 1.
#include <cmath>
#include <cstddef>

#include "engine/parallel/sequence/online_softmax.hpp"

namespace lockstep::sequence_parallel {

void merge(Partial& into, const Partial& block) {
  if (block.log_sum == -std::numeric_limits<double>::infinity()) return;
  const double share = 1 / (1 + std::exp(into.log_sum - block.log_sum));
  for (std::size_t d = 0; d < into.output.size(); ++d) {
    into.output[d] -= share * (into.output[d] - block.output[d]);
  }
  const bool block_is_larger = block.log_sum > into.log_sum;
  const double larger = block_is_larger ? block.log_sum : into.log_sum;
  into.log_sum = larger + std::log1p(std::exp(-std::fabs(block.log_sum - into.log_sum)));
}

}  // namespace lockstep::sequence_parallel
