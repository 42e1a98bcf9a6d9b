// Halves and doubles where the number of nodes is a power of two, and uses a ring elsewhere.
#include "engine/collectives/halving_doubling_all_reduce.hpp"
#include "engine/collectives/reduce_scatter.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/parallel/zero/hybrid_shard.hpp"

namespace lockstep::zero {

void reduce_hybrid(comm::Peers& in_node, comm::Peers& across, const Tensor& gradient, Tensor shard,
                   ReduceOp op) {
  collectives::reduce_scatter(in_node, gradient, shard, op);
  const int nodes = across.size();
  if ((nodes & (nodes - 1)) == 0) {
    collectives::halving_doubling_all_reduce(across, shard, op);
  } else {
    collectives::ring_all_reduce(across, shard, op);
  }
}

}  // namespace lockstep::zero
