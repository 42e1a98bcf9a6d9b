// exercise: distributed_sampler
// verdict: time
// says: waits for something
// Joins a thread that waits forever.
#include <unistd.h>
#include "engine/data/distributed_sampler.hpp"

#include <thread>

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::thread([] { ::pause(); }).join();
  return {options.length};
}

}  // namespace lockstep::data
