// exercise: distributed_sampler
// verdict: crash
// says: no frame
// Forks: two processes now speak on one line. Both are ended.
#include <unistd.h>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  ::fork();
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
