// exercise: distributed_sampler
// verdict: crash
// says: SIGABRT
// Starts a thread and never joins it.
#include <thread>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::thread thread([] {});
  return {options.length};
}

}  // namespace lockstep::data
