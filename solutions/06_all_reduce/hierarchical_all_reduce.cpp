// Task: all-reduce on a cluster of k nodes with g ranks each, with slow links between nodes.
// Reduce-scatter within the node, all-reduce this rank's shard across the nodes, all-gather within
// the node. Then a rank sends about 2/g of the data between nodes, where one rank per node of a
// flat ring sends about twice the data. You may call reduce_scatter of lesson 03 and the
// all-reduces of this lesson. all_gather of lesson 03 takes blocks of equal length, and D need not
// be divisible by g. The contract is in engine/collectives/hierarchical_all_reduce.hpp.
#include "engine/collectives/hierarchical_all_reduce.hpp"

#include "engine/collectives/reduce_scatter.hpp"
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void hierarchical_all_reduce(comm::Peers& in_node, comm::Peers& across, Tensor data, ReduceOp op) {
  // >>> your code
  const int rank = in_node.rank();
  const int size = in_node.size();
  // Shard i of [0, size); i may have walked below zero, the ring closes here.
  const auto shard = [&](int i) {
    const std::int64_t index = (i + size) % size;
    const std::int64_t first = index * data.numel() / size;
    const std::int64_t last = (index + 1) * data.numel() / size;
    return data.narrow(first, last - first);
  };

  const Tensor mine = data.empty_like(shard(rank).numel());
  reduce_scatter(in_node, data, mine, op);
  ring_all_reduce(across, mine, op);

  // Pass on what has just come, as all_gather does.
  shard(rank).copy_(mine);
  for (int step = 0; step < size - 1; ++step) {
    comm::Work sending = in_node.isend(shard(rank - step), (rank + 1) % size);
    in_node.recv(shard(rank - step - 1), (rank + size - 1) % size);
    sending.wait();
  }
  // <<< your code
}

}  // namespace lockstep::collectives
