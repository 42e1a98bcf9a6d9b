// Task: all-to-all with blocks of any length. Block j of `in` goes to rank j and becomes block
// number `rank` of `out` there. Blocks lie one after another, in the order of the ranks. Send each
// block once, straight to its owner, and copy your own. Ranks that wait for one message after another
// start with different partners, or all of them wait for one. Use narrow and copy_. The contract is
// in engine/collectives/all_to_all.hpp.
#include "engine/collectives/all_to_all.hpp"

#include <numeric>

namespace lockstep::collectives {

void all_to_all(comm::Peers& peers, const Tensor& in, Tensor out,
                std::span<const std::int64_t> to_each, std::span<const std::int64_t> from_each) {
  // >>> your code
  const int rank = peers.rank();
  const int size = peers.size();
  const auto block = [](const Tensor& whole, std::span<const std::int64_t> lengths, int index) {
    const auto before = lengths.first(static_cast<std::size_t>(index));
    const std::int64_t first = std::accumulate(before.begin(), before.end(), std::int64_t{0});
    return whole.narrow(first, lengths[static_cast<std::size_t>(index)]);
  };

  block(out, from_each, rank).copy_(block(in, to_each, rank));
  for (int step = 1; step < size; ++step) {
    // In every step each rank is receiver of exactly one other.
    const int to = (rank + step) % size;
    const int from = (rank + size - step) % size;
    comm::Work sending = peers.isend(block(in, to_each, to), to);
    peers.recv(block(out, from_each, from), from);
    sending.wait();
  }
  // <<< your code
}

}  // namespace lockstep::collectives
