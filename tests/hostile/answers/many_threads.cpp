// exercise: distributed_sampler
// verdict: crash
// says: SIGABRT
// Starts threads endlessly.
#include <unistd.h>
#include "engine/data/distributed_sampler.hpp"

#include <thread>

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::vector<std::thread> threads;
  while (true) threads.emplace_back([] { ::pause(); });
  return {options.length};
}

}  // namespace lockstep::data
