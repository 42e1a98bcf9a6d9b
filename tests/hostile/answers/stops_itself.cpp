// exercise: distributed_sampler
// verdict: time
// says: waits for something
// Stops its own process.
#include <signal.h>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  ::raise(SIGSTOP);
  return {options.length};
}

}  // namespace lockstep::data
