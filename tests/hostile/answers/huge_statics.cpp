// exercise: distributed_sampler
// verdict: crash
// says: exceeded its memory limit
// Has statics larger than its address space: it cannot even start.
#include "engine/data/distributed_sampler.hpp"

static volatile char room[std::size_t{1} << 30];

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  room[static_cast<std::size_t>(options.length)] = 1;
  return {room[static_cast<std::size_t>(options.rank)]};
}

}  // namespace lockstep::data
