// exercise: distributed_sampler
// verdict: memory
// says: 512 MiB
// Grows a list endlessly.
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::vector<std::int64_t> list;
  while (true) list.push_back(options.rank);
}

}  // namespace lockstep::data
