// exercise: distributed_sampler
// verdict: crash
// says: SIGSEGV
// Writes through a null pointer.
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  volatile int* nowhere = nullptr;
  *nowhere = options.rank;
  return {};
}

}  // namespace lockstep::data
