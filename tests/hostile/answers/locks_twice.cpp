// exercise: distributed_sampler
// verdict: time
// says: waits for something
// Locks a mutex that it already holds.
#include <mutex>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::mutex mutex;
  mutex.lock();
  mutex.lock();
  return {options.length};
}

}  // namespace lockstep::data
