// exercise: distributed_sampler
// verdict: time
// says: endless loop
// Computes endlessly.
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  volatile std::int64_t turns = options.length;
  while (true) turns = turns + 1;
}

}  // namespace lockstep::data
