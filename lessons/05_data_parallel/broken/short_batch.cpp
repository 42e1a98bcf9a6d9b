// Wrong on purpose: the sampler neither pads nor drops. Where the number of ranks does not divide
// the data set, some ranks have one sample more than others, and one of them a step more.
#include "engine/base/random.hpp"
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  const auto order =
      random_permutation(options.length, options.seed + static_cast<std::uint64_t>(options.epoch));
  std::vector<std::int64_t> mine;
  for (std::int64_t i = options.rank; i < options.length; i += options.ranks) {
    mine.push_back(order[static_cast<std::size_t>(i)]);
  }
  return mine;
}

}  // namespace lockstep::data
