// exercise: distributed_sampler
// verdict: crash
// says: SIGSEGV
// Recurses endlessly.
#include "engine/data/distributed_sampler.hpp"

std::int64_t deep(std::int64_t n) {
  volatile std::int64_t room[512];
  room[0] = n;
  return deep(n + 1) + room[0];
}

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  return {deep(options.length)};
}

}  // namespace lockstep::data
