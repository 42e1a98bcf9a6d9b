// Pairs that exchange: partner r xor s where N is a power of two, the shift elsewhere.
#include <numeric>

#include "engine/collectives/all_to_all.hpp"

#include <numeric>

namespace lockstep::collectives {

void all_to_all(comm::Peers& peers, const Tensor& in, Tensor out,
                std::span<const std::int64_t> to_each, std::span<const std::int64_t> from_each) {
  const int rank = peers.rank(), size = peers.size();
  const bool paired = (size & (size - 1)) == 0;
  const auto start = [](std::span<const std::int64_t> lengths, int index) {
    return std::accumulate(lengths.begin(), lengths.begin() + index, std::int64_t{0});
  };
  for (int step = 0; step < size; ++step) {
    const int to = paired ? rank ^ step : (rank + step) % size;
    const int from = paired ? to : (rank + size - step) % size;
    const Tensor leaving = in.narrow(start(to_each, to), to_each[static_cast<std::size_t>(to)]);
    const Tensor coming =
        out.narrow(start(from_each, from), from_each[static_cast<std::size_t>(from)]);
    if (step == 0) {
      coming.copy_(leaving);
      continue;
    }
    comm::Work receiving = peers.irecv(coming, from);
    peers.send(leaving, to);
    receiving.wait();
  }
}

}  // namespace lockstep::collectives
