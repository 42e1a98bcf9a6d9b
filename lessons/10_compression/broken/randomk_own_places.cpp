// Wrong on purpose: each rank draws its places from its own seed. The values are still summed, but
// the values that are added belong to different places.
#include <algorithm>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/entries.hpp"
#include "engine/parallel/compress/random_k.hpp"

namespace lockstep::compress {

comm::Work random_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, std::int64_t k,
                           std::uint64_t step_seed) {
  const std::int64_t count = gradient.numel();
  if (count == 0) return {};
  const std::uint64_t own_seed = random_bits(step_seed, static_cast<std::uint64_t>(group.rank()));
  const std::vector<std::int64_t> places = random_entries(count, k, own_seed);
  std::vector<double> values;
  const double scale = static_cast<double>(count) / static_cast<double>(k) / group.size();
  for (const std::int64_t place : places) values.push_back(gradient.item(place) * scale);
  const Tensor chosen = from_values(values, {k}, gradient.dtype(), gradient.device());
  return then(group, group.all_reduce_async(chosen, ReduceOp::sum), [gradient, chosen, places] {
    gradient.fill_(0);
    for (std::size_t i = 0; i < places.size(); ++i) {
      gradient.narrow(places[i], 1).fill_(chosen.item(static_cast<std::int64_t>(i)));
    }
  });
}

}  // namespace lockstep::compress
