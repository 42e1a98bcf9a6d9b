// exercise: distributed_sampler
// verdict: compile error
// says: constexpr
// An endless computation at compile time: the compiler gives up by itself.
#include "engine/data/distributed_sampler.hpp"

constexpr long count() {
  long n = 0;
  while (true) ++n;
  return n;
}

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  constexpr long all = count();
  return {all, options.rank};
}

}  // namespace lockstep::data
