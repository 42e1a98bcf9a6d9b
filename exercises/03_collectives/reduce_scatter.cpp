// Task: reduce-scatter by a ring. Every rank brings D elements. Rank r ends with block r of their
// reduction, and `all` is unchanged. All ranks together send exactly (N-1)·D elements, so each
// block travels round the ring, collects one rank's numbers at every stop, and is finished at its
// owner. D may be 0, smaller than N, or not divisible by N. Use narrow, copy_, reduce_ and
// empty_like. The contract is in engine/collectives/reduce_scatter.hpp.
#include "engine/collectives/reduce_scatter.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void reduce_scatter(comm::Peers& peers, const Tensor& all, Tensor mine, ReduceOp op) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)peers, (void)all, (void)mine, (void)op;
  throw NotImplemented("reduce_scatter");
  // <<< your code
}

}  // namespace lockstep::collectives
