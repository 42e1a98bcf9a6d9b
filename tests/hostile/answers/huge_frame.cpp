// exercise: distributed_sampler
// verdict: crash
// says: not a frame
// Announces a frame of four gigabytes.
#include <unistd.h>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  const char frame[] = "\xff\xff\xff\xff\x13\0\0\0\0\0\0\0";
  static_cast<void>(!::write(3, frame, 12));
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
