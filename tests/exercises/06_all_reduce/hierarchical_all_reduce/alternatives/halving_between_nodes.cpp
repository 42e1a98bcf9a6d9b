// Halving and doubling between nodes, which needs fewer steps than a ring there.
#include "engine/collectives/halving_doubling_all_reduce.hpp"
#include "engine/collectives/hierarchical_all_reduce.hpp"
#include "engine/collectives/reduce_scatter.hpp"
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void hierarchical_all_reduce(comm::Peers& in_node, comm::Peers& across, Tensor data, ReduceOp op) {
  const int g = in_node.size(), place = in_node.rank();
  const auto begin = [&](int i) { return i * data.numel() / g; };
  const auto part = [&](int i) { return data.narrow(begin(i), begin(i + 1) - begin(i)); };
  const Tensor shard = data.empty_like(part(place).numel());
  reduce_scatter(in_node, data, shard, op);
  if ((across.size() & (across.size() - 1)) == 0) {
    halving_doubling_all_reduce(across, shard, op);
  } else {
    ring_all_reduce(across, shard, op);
  }
  part(place).copy_(shard);
  // The other way round the ring.
  for (int step = 0; step + 1 < g; ++step) {
    comm::Work receiving = in_node.irecv(part((place + step + 1) % g), (place + 1) % g);
    in_node.send(part((place + step) % g), (place + g - 1) % g);
    receiving.wait();
  }
}

}  // namespace lockstep::collectives
