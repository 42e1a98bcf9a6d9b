// exercise: distributed_sampler
// verdict: compile error
// says: defines main()
// Defines main, which the player has already.
#include "engine/data/distributed_sampler.hpp"

int main() { return 0; }

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
