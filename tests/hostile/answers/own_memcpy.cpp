// exercise: distributed_sampler
// verdict: crash
// says: SIGSEGV
// Replaces memcpy by a function that copies nothing.
#include <cstring>
#include "engine/data/distributed_sampler.hpp"

extern "C" void* memcpy(void* to, const void*, std::size_t) { return to; }

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
