// exercise: distributed_sampler
// verdict: compile error
// says: no return statement
// A function without its return statement.
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) { (void)options; }

}  // namespace lockstep::data
