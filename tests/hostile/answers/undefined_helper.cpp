// exercise: distributed_sampler
// verdict: compile error
// says: my_helper
// Declares and calls a function that is not defined: the linker names it.
#include "engine/data/distributed_sampler.hpp"

std::vector<std::int64_t> my_helper(int rank);

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  return my_helper(options.rank);
}

}  // namespace lockstep::data
