// exercise: distributed_sampler
// verdict: crash
// says: SIGSEGV
// Turns its crash into the exit code of a crash, as a shell would.
#include <cstdlib>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::_Exit(128 + 11 + options.rank);
}

}  // namespace lockstep::data
