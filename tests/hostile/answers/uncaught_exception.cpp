// exercise: distributed_sampler
// verdict: crash
// says: no such sample
// Lets an exception escape: its text is the message.
#include <stdexcept>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  throw std::out_of_range("no such sample");
  return {options.length};
}

}  // namespace lockstep::data
