// exercise: distributed_sampler
// verdict: wrong answer
// says: was expected
// Runs another program.
#include <cstdlib>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  static_cast<void>(!std::system("true"));
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
