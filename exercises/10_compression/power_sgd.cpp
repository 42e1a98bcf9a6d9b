// Task: reduce a bucket in which each large matrix travels as two thin matrices. Decide which
// gradients shrink enough, and multiply each of them by its Q. All-reduce the products P together
// with the gradients that travel as they are. Make P orthonormal, multiply again, all-reduce the Q,
// and keep what P·Qᵀ leaves out. The contract is in engine/parallel/compress/power_sgd.hpp.
// low_rank.hpp beside it has the layout and orthonormal columns, and `then` makes a Work that goes
// on when the first all-reduce is over.
#include "engine/parallel/compress/power_sgd.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/low_rank.hpp"
#include "engine/tensor/broadcast.hpp"
#include "engine/tensor/matmul.hpp"

namespace lockstep::compress {

// >>> your code
// <<< your code

comm::Work power_sgd_reduce(comm::ProcessGroup& group, const collectives::GradientBucket& bucket,
                            LowRankState& state, const PowerSgdOptions& options,
                            std::int64_t pass) {
  const Tensor& flat = bucket.flat;
  LOCKSTEP_CHECK(options.rank >= 1, "power_sgd_reduce: matrices of rank ", options.rank,
                 "; pass at least 1");
  LOCKSTEP_CHECK(!is_integer(flat.dtype()), "power_sgd_reduce: a bucket of ", name_of(flat.dtype()),
                 " on rank ", group.rank(), "; gradients are floating point");
  LOCKSTEP_CHECK(state.residual.numel() == flat.numel(), "power_sgd_reduce: a residual of ",
                 state.residual.numel(), " elements for bucket ", bucket.index, " of ",
                 flat.numel(), " on rank ", group.rank(), "; a state belongs to one bucket");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)bucket, (void)state, (void)options, (void)pass;
  throw NotImplemented("power_sgd");
  // <<< your code
}

}  // namespace lockstep::compress
