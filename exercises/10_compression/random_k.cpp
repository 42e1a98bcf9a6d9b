// Task: send k random entries of a gradient, the same entries on every rank. Collect them in one
// small tensor, scaled, start its all-reduce, and return a Work whose wait() puts the sums back at
// their places and zeros elsewhere. The contract is in engine/parallel/compress/random_k.hpp.
// entries.hpp beside it draws the places, and `then` makes such a Work.
#include "engine/parallel/compress/random_k.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
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
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)gradient, (void)k, (void)step_seed;
  throw NotImplemented("random_k");
  // <<< your code
}

}  // namespace lockstep::compress
