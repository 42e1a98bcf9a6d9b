// exercise: distributed_sampler
// verdict: output
// says: printed more than
// Prints endlessly.
#include <cstdio>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  while (true) std::printf("%lld again and again\n", static_cast<long long>(options.length));
}

}  // namespace lockstep::data
