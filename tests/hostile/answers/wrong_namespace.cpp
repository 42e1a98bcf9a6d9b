// exercise: distributed_sampler
// verdict: compile error
// says: it defines distributed_indices
// The function stands outside its namespace.
#include "engine/data/distributed_sampler.hpp"

std::vector<std::int64_t> distributed_indices(const lockstep::data::SamplerOptions&) { return {}; }
