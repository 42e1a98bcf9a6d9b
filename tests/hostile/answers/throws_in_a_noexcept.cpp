// exercise: distributed_sampler
// verdict: crash
// says: SIGABRT
// Throws in a noexcept function.
#include "engine/data/distributed_sampler.hpp"

#include <stdexcept>

static std::vector<std::int64_t> list(int rank) noexcept {
  if (rank >= 0) throw std::runtime_error("too late");
  return {};
}

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  return list(options.rank);
}

}  // namespace lockstep::data
