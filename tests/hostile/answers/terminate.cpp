// exercise: distributed_sampler
// verdict: crash
// says: SIGABRT
// Calls std::terminate.
#include <exception>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::terminate();
  return {options.length};
}

}  // namespace lockstep::data
