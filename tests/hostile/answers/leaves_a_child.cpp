// exercise: distributed_sampler
// verdict: wrong answer
// says: was expected
// Leaves a sleeping child: it ends with its parent's process group.
#include <unistd.h>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  if (::fork() == 0) {
    ::sleep(3600);
    ::_exit(0);
  }
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
