// exercise: distributed_sampler
// verdict: crash
// says: SIGFPE
// Divides by zero.
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  volatile std::int64_t none = 0;
  return {options.length / none};
}

}  // namespace lockstep::data
