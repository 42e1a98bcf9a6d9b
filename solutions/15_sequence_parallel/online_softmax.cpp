// Task: merge the attention of one query to two blocks of keys, given the output and the log-sum of
// each. Scores may be large, and a block may have no key that the query sees. The contract is in
// engine/parallel/sequence/online_softmax.hpp.
#include "engine/parallel/sequence/online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lockstep::sequence_parallel {

void merge(Partial& into, const Partial& block) {
  // >>> your code
  if (block.log_sum == -std::numeric_limits<double>::infinity()) return;
  if (into.log_sum == -std::numeric_limits<double>::infinity()) {
    into = block;
    return;
  }
  const double most = std::max(into.log_sum, block.log_sum);
  const double before = std::exp(into.log_sum - most), added = std::exp(block.log_sum - most);
  const double sum = before + added;
  for (std::size_t i = 0; i < into.output.size(); ++i) {
    into.output[i] = (before * into.output[i] + added * block.output[i]) / sum;
  }
  into.log_sum = most + std::log(sum);
  // <<< your code
}

}  // namespace lockstep::sequence_parallel
