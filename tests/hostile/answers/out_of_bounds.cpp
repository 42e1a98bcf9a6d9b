// exercise: distributed_sampler
// verdict: crash
// says: SIGSEGV
// Reads far beyond the end of a list.
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::vector<std::int64_t> list(1);
  volatile std::int64_t* all = list.data();
  return {all[std::int64_t{1} << 40], options.rank};
}

}  // namespace lockstep::data
