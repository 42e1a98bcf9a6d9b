// exercise: distributed_sampler
// verdict: compile error
// says: my_helper
// A function is declared and called, but nowhere defined: the linker knows its name.
#include "engine/data/distributed_sampler.hpp"

std::vector<std::int64_t> my_helper(int rank);

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  return my_helper(options.rank);
}

}  // namespace lockstep::data
