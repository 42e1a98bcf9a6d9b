// Task: all-to-all with blocks of any lengths. Block j of `in` goes to rank j, where it becomes
// block number `rank` of `out`; blocks lie one behind the other in the order of the ranks. Each is
// sent once, straight to its owner; your own is copied. Begin with another partner than the other
// ranks do, or all of them wait for one. Use narrow and copy_; the contract stands in
// engine/collectives/all_to_all.hpp.
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
