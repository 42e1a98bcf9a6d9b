// Everything is posted at once, and waited for at the end.
#include <vector>

#include "engine/collectives/all_to_all.hpp"

#include <numeric>

namespace lockstep::collectives {

void all_to_all(comm::Peers& peers, const Tensor& in, Tensor out,
                std::span<const std::int64_t> to_each, std::span<const std::int64_t> from_each) {
  const int rank = peers.rank();
  std::vector<comm::Work> works;
  std::int64_t from_at = 0, to_at = 0;
  for (int peer = 0; peer < peers.size(); ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    const Tensor leaving = in.narrow(to_at, to_each[i]), coming = out.narrow(from_at, from_each[i]);
    to_at += to_each[i];
    from_at += from_each[i];
    if (peer == rank) {
      coming.copy_(leaving);
    } else {
      works.push_back(peers.isend(leaving, peer));
      works.push_back(peers.irecv(coming, peer));
    }
  }
  for (auto& work : works) work.wait();
}

}  // namespace lockstep::collectives
