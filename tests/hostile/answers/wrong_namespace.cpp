// exercise: distributed_sampler
// verdict: compile error
// says: it defines distributed_indices
// Defines the function outside its namespace.
#include "engine/data/distributed_sampler.hpp"

std::vector<std::int64_t> distributed_indices(const lockstep::data::SamplerOptions&) { return {}; }
