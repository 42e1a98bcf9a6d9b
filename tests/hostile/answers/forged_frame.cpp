// exercise: distributed_sampler
// verdict: crash
// says: not a frame
// Writes noise instead of frames.
#include <unistd.h>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  static_cast<void>(!::write(3, "PASS, honestly, all of it", 25));
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
