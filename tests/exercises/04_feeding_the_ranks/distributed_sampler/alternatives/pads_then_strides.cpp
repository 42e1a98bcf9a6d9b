// The order is really padded or cut, and then walked through, as PyTorch writes it.
#include <numeric>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  LOCKSTEP_CHECK(options.rank >= 0 && options.rank < options.ranks, "no rank ", options.rank);
  std::vector<std::int64_t> order(static_cast<std::size_t>(options.length));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (options.order == Order::shuffled) {
    order = random_permutation(options.length,
                               options.seed + static_cast<std::uint64_t>(options.epoch));
  }
  const auto ranks = static_cast<std::size_t>(options.ranks);
  const std::size_t head = order.size();
  if (options.tail == Tail::drop) order.resize(head / ranks * ranks);
  for (std::size_t i = 0; head > 0 && order.size() % ranks != 0; ++i) order.push_back(order[i]);
  std::vector<std::int64_t> mine;
  for (auto i = static_cast<std::size_t>(options.rank); i < order.size(); i += ranks) {
    mine.push_back(order[i]);
  }
  return mine;
}

}  // namespace lockstep::data
