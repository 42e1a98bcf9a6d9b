// Within a node, shards are exchanged directly, all at once.
#include <vector>

#include "engine/collectives/hierarchical_all_reduce.hpp"
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void hierarchical_all_reduce(comm::Peers& in_node, comm::Peers& across, Tensor data, ReduceOp op) {
  const int g = in_node.size(), me = in_node.rank();
  std::vector<Tensor> shards;
  for (std::int64_t i = 0; i < g; ++i) {
    const std::int64_t begin = i * data.numel() / g;
    shards.push_back(data.narrow(begin, (i + 1) * data.numel() / g - begin));
  }
  const Tensor mine = shards[static_cast<std::size_t>(me)];
  std::vector<comm::Work> works;
  std::vector<Tensor> shares;
  for (int step = 1; step < g; ++step) {
    const int to = (me + step) % g, from = (me + g - step) % g;
    shares.push_back(mine.empty_like(mine.numel()));
    works.push_back(in_node.isend(shards[static_cast<std::size_t>(to)], to));
    works.push_back(in_node.irecv(shares.back(), from));
  }
  for (auto& work : works) work.wait();
  for (const Tensor& share : shares) mine.reduce_(share, op);

  ring_all_reduce(across, mine, op);

  works.clear();
  for (int step = 1; step < g; ++step) {
    const int to = (me + step) % g, from = (me + g - step) % g;
    works.push_back(in_node.isend(mine, to));
    works.push_back(in_node.irecv(shards[static_cast<std::size_t>(from)], from));
  }
  for (auto& work : works) work.wait();
}

}  // namespace lockstep::collectives
