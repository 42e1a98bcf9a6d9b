// Wrong on purpose: what came before is measured by the last block, however small its scores are,
// and also where a query sees none of its keys.
#include <cmath>
#include <cstddef>

#include "engine/parallel/sequence/online_softmax.hpp"

namespace lockstep::sequence_parallel {

void merge(Partial& into, const Partial& block) {
  const double before = std::exp(into.log_sum - block.log_sum), sum = before + 1;
  for (std::size_t i = 0; i < into.output.size(); ++i) {
    into.output[i] = (before * into.output[i] + block.output[i]) / sum;
  }
  into.log_sum = block.log_sum + std::log(sum);
}

}  // namespace lockstep::sequence_parallel
