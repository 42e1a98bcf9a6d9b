// exercise: distributed_sampler
// verdict: crash
// says: SIGSEGV
// Calls malloc endlessly and ignores the result.
#include <cstdlib>
#include <cstring>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  while (true) std::memset(std::malloc(std::size_t{64} << 20), options.rank, 1 << 20);
}

}  // namespace lockstep::data
