// Task: decide which samples each rank reads in one epoch. Every rank calls this function with its
// own rank and otherwise equal options, and no rank sends a message. So the same seed and epoch
// must give all ranks the same order. Together the ranks read every sample. Each reads equally
// many, because a rank with one batch less would leave the others waiting in an all-reduce. `tail`
// says what to do when the ranks do not divide the length. The result must equal PyTorch's
// DistributedSampler, index for index. The contract is in engine/data/distributed_sampler.hpp, and
// random_permutation (engine/base/random.hpp) is torch.randperm.
#include "engine/data/distributed_sampler.hpp"

#include <numeric>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  LOCKSTEP_CHECK(options.ranks >= 1 && options.rank >= 0 && options.rank < options.ranks,
                 "distributed_indices: rank ", options.rank, " of ", options.ranks,
                 " ranks; ranks count from 0");
  LOCKSTEP_CHECK(options.length >= 0 && options.epoch >= 0, "distributed_indices: length ",
                 options.length, ", epoch ", options.epoch, "; neither can be negative");
  // >>> your code
  std::vector<std::int64_t> order;
  if (options.order == Order::shuffled) {
    order = random_permutation(options.length,
                               options.seed + static_cast<std::uint64_t>(options.epoch));
  } else {
    order.resize(static_cast<std::size_t>(options.length));
    std::iota(order.begin(), order.end(), 0);
  }

  // Striding over an order that starts again at its end is the same as padding with its head first;
  // stopping short of its end is the same as cutting.
  const std::int64_t per_rank = options.tail == Tail::pad
                                    ? (options.length + options.ranks - 1) / options.ranks
                                    : options.length / options.ranks;
  std::vector<std::int64_t> mine;
  for (std::int64_t k = 0; k < per_rank; ++k) {
    const std::int64_t place = options.rank + k * options.ranks;
    mine.push_back(order[static_cast<std::size_t>(place % options.length)]);
  }
  return mine;
  // <<< your code
}

}  // namespace lockstep::data
