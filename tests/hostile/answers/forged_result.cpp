// exercise: distributed_sampler
// verdict: crash
// says: a result that cannot be read
// Sends a forged result frame without the expected answers.
#include <unistd.h>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  const char frame[] = "\x04\0\0\0\x13\0\0\0\0\0\0\0four";
  static_cast<void>(!::write(3, frame, 16));
  ::pause();
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
