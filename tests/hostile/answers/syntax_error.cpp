// exercise: distributed_sampler
// verdict: compile error
// says: expected
// Lacks a semicolon: the first error is the message.
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::int64_t first = options.rank return {first};
}

}  // namespace lockstep::data
