// exercise: distributed_sampler
// verdict: time
// says: waits for something
// Starts a frame and never ends it.
#include <unistd.h>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  const char frame[] = "\xff\0\0\0\x13\0\0\0\0\0\0\0";
  static_cast<void>(!::write(3, frame, 12));
  ::pause();
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
