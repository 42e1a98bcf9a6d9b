// Task: send k random entries of a gradient, the same entries on every rank. Collect them in one
// small tensor, scaled, start its all-reduce, and return a Work whose wait() puts the sums back at
// their places and zeros elsewhere. The contract is in engine/parallel/compress/random_k.hpp.
// entries.hpp beside it draws the places, and `then` makes such a Work.
#include "engine/parallel/compress/random_k.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/entries.hpp"
#include "engine/tensor/gather.hpp"

namespace lockstep::compress {

comm::Work random_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, std::int64_t k,
                           std::uint64_t step_seed) {
  const std::int64_t count = gradient.numel();
  LOCKSTEP_CHECK(!is_integer(gradient.dtype()), "random_k_reduce: a gradient of ",
                 name_of(gradient.dtype()), " on rank ", group.rank(),
                 "; gradients are floating point");
  LOCKSTEP_CHECK(k <= count && (k >= 1 || count == 0), "random_k_reduce: ", k,
                 " entries of a gradient of ", count, " on rank ", group.rank(),
                 "; pass from 1 to as many as there are");
  if (count == 0) return {};
  // >>> your code
  const Tensor places = written_by_host({k}, DType::int64, gradient.device(), MemoryKind::buffers,
                                        [&](const Tensor& written) {
                                          std::ranges::copy(random_entries(count, k, step_seed),
                                                            written.data<std::int64_t>().begin());
                                        });
  // A gradient is a table of n rows with one element each.
  const Tensor chosen = ops::embedding(gradient.view({count, 1}), places).view({k});
  const double scale = static_cast<double>(count) / static_cast<double>(k);
  chosen.scale_(scale / group.size());
  comm::Work work = group.all_reduce_async(chosen, ReduceOp::sum);
  return then(group, std::move(work), [gradient, chosen, places, count, k] {
    gradient.copy_(ops::embedding_backward(chosen.view({k, 1}), places, count));
  });
  // <<< your code
}

}  // namespace lockstep::compress
