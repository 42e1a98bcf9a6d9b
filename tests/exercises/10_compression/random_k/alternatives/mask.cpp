// A mask over all elements instead of a list of places: what travels is squeezed together and
// spread again.
#include <utility>
#include <vector>

#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/entries.hpp"
#include "engine/parallel/compress/random_k.hpp"

namespace lockstep::compress {

comm::Work random_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, std::int64_t k,
                           std::uint64_t step_seed) {
  const std::int64_t count = gradient.numel();
  if (count == 0) return {};
  std::vector<bool> travels(static_cast<std::size_t>(count));
  for (const std::int64_t place : random_entries(count, k, step_seed)) {
    travels[static_cast<std::size_t>(place)] = true;
  }
  const Tensor squeezed = gradient.empty_like(k);
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (travels[static_cast<std::size_t>(i)]) {
      squeezed.narrow(next++, 1).copy_(gradient.narrow(i, 1));
    }
  }
  squeezed.scale_(static_cast<double>(count) / static_cast<double>(k * group.size()));
  comm::Work work = group.all_reduce_async(squeezed, ReduceOp::sum);
  return then(group, std::move(work), [gradient, squeezed, travels, count] {
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const Tensor element = gradient.narrow(i, 1);
      if (travels[static_cast<std::size_t>(i)]) {
        element.copy_(squeezed.narrow(at++, 1));
      } else {
        element.fill_(0);
      }
    }
  });
}

}  // namespace lockstep::compress
