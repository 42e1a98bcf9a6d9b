// All sends and receives at once, then the sum in the order of the ranks.
#include <vector>

#include "engine/collectives/reduce_scatter.hpp"

namespace lockstep::collectives {

void reduce_scatter(comm::Peers& peers, const Tensor& all, Tensor mine, ReduceOp op) {
  const int rank = peers.rank(), size = peers.size();
  const auto block = [&](int c) {
    const std::int64_t first = c * all.numel() / size, last = (c + 1) * all.numel() / size;
    return all.narrow(first, last - first);
  };
  std::vector<comm::Work> works;
  std::vector<Tensor> shares;
  for (int peer = 0; peer < size; ++peer) {
    shares.push_back(peer == rank ? block(rank) : mine.empty_like(mine.numel()));
    if (peer == rank) continue;
    works.push_back(peers.isend(block(peer), peer));
    works.push_back(peers.irecv(shares.back(), peer));
  }
  for (auto& work : works) work.wait();
  mine.copy_(shares.front());
  for (std::size_t i = 1; i < shares.size(); ++i) mine.reduce_(shares[i], op);
}

}  // namespace lockstep::collectives
