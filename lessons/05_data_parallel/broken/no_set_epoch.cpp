// Wrong on purpose: the epoch never reaches the sampler, as when `sampler.set_epoch(epoch)` is left
// out. Every epoch reads the same samples in the same order, in the same batches.
#include "engine/base/random.hpp"
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  const auto order = random_permutation(options.length, options.seed);  // without options.epoch
  const std::int64_t per_rank = (options.length + options.ranks - 1) / options.ranks;
  std::vector<std::int64_t> mine;
  for (std::int64_t k = 0; k < per_rank; ++k) {
    const std::int64_t place = (options.rank + k * options.ranks) % options.length;
    mine.push_back(order[static_cast<std::size_t>(place)]);
  }
  return mine;
}

}  // namespace lockstep::data
