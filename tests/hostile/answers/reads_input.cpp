// exercise: distributed_sampler
// verdict: wrong answer
// says: was expected
// Reads from standard input, which is empty.
#include <iostream>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::int64_t first = -1;
  std::cin >> first;
  return {first, options.rank};
}

}  // namespace lockstep::data
