// exercise: distributed_sampler
// verdict: memory
// says: 512 MiB
// Allocates more memory than there is.
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  return std::vector<std::int64_t>(std::size_t{1} << 34, options.rank);
}

}  // namespace lockstep::data
