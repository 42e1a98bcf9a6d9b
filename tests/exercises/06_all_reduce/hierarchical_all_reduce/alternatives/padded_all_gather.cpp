// Shards in blocks of equal length, so that lesson 03's all-gather can bring them together: the
// shorter ones are padded.
#include "engine/collectives/all_gather.hpp"
#include "engine/collectives/hierarchical_all_reduce.hpp"
#include "engine/collectives/reduce_scatter.hpp"
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void hierarchical_all_reduce(comm::Peers& in_node, comm::Peers& across, Tensor data, ReduceOp op) {
  const std::int64_t g = in_node.size(), count = data.numel(), longest = (count + g - 1) / g;
  const auto shard = [&](std::int64_t i) {
    return data.narrow(i * count / g, (i + 1) * count / g - i * count / g);
  };
  const Tensor block = data.empty_like(longest);
  block.fill_(0);
  const Tensor mine = block.narrow(0, shard(in_node.rank()).numel());
  reduce_scatter(in_node, data, mine, op);
  ring_all_reduce(across, mine, op);
  const Tensor blocks = data.empty_like(g * longest);
  all_gather(in_node, block, blocks);
  for (std::int64_t i = 0; i < g; ++i) {
    shard(i).copy_(blocks.narrow(i * longest, shard(i).numel()));
  }
}

}  // namespace lockstep::collectives
