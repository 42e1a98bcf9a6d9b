// exercise: distributed_sampler
// verdict: crash
// says: SIGABRT
// Calls abort().
#include <cstdlib>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  if (options.length > 0) std::abort();
  return {};
}

}  // namespace lockstep::data
