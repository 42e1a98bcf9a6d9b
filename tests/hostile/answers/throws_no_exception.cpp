// exercise: distributed_sampler
// verdict: crash
// says: not a std::exception
// Throws a number.
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) { throw options.rank; }

}  // namespace lockstep::data
