// exercise: distributed_sampler
// verdict: time
// says: waits for something
// Sleeps for an hour.
#include <chrono>
#include <thread>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::this_thread::sleep_for(std::chrono::hours(1));
  return {options.length};
}

}  // namespace lockstep::data
