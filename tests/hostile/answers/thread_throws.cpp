// exercise: distributed_sampler
// verdict: crash
// says: SIGABRT
// Starts a thread that ends with an exception.
#include <thread>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::thread([] { throw 1; }).join();
  return {options.length};
}

}  // namespace lockstep::data
