// Task: decide which of the gradients that are ready travel together. Begin a group with the first
// gradient that is in none yet, and add each next one of its dtype as long as the group fits into a
// buffer of threshold_bytes. Gradients of other dtypes may be passed over on the way, as far as the
// contract allows; they are grouped next. The contract is in
// engine/parallel/horovod/tensor_fusion.hpp.
#include "engine/parallel/horovod/tensor_fusion.hpp"

#include <deque>
#include <numeric>

#include "engine/base/error.hpp"

namespace lockstep::horovod {

FusionPlan fuse(std::span<const Ready> in_order, std::int64_t threshold_bytes) {
  LOCKSTEP_CHECK(threshold_bytes >= 0, "fuse: a threshold of ", threshold_bytes,
                 " bytes; it cannot be negative, and 0 disables fusion");
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    LOCKSTEP_CHECK(in_order[i].count >= 0, "fuse: gradient ", i, " has ", in_order[i].count,
                   " elements");
  }
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)in_order, (void)threshold_bytes;
  throw NotImplemented("tensor_fusion");
  // <<< your code
}

}  // namespace lockstep::horovod
