// exercise: distributed_sampler
// verdict: crash
// says: closed its connection
// Closes fd 3 and continues.
#include <unistd.h>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  ::close(3);
  ::pause();
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
