// Task: all-reduce by a ring. Every rank brings D elements and ends with the reduction of all of
// them. A rank talks to its two neighbours only, and all ranks together send exactly 2(N-1)·D
// elements. Whole buffers are too much, so work in N chunks. D may be 0, smaller than N, or not
// divisible by N. A buffer that is being sent must not change until wait() returns. Use narrow,
// copy_, reduce_, empty_like and numel. The contract is in engine/collectives/ring_all_reduce.hpp.
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  // >>> your code
  const int rank = peers.rank();
  const int size = peers.size();
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;

  // Chunk c of [0, size); c may have walked below zero, the ring closes here.
  const auto chunk = [&](int c) {
    const std::int64_t index = (c + size) % size;
    const std::int64_t first = index * data.numel() / size;
    const std::int64_t last = (index + 1) * data.numel() / size;
    return data.narrow(first, last - first);
  };

  // Chunk c starts at rank c and is reduced at each rank it comes through, so after size - 1 steps
  // rank r holds all of chunk r + 1. What arrives needs room of its own: the chunk it belongs to
  // still holds this rank's share.
  const Tensor room = data.empty_like((data.numel() + size - 1) / size);
  for (int step = 0; step < size - 1; ++step) {
    const Tensor mine = chunk(rank - step - 1);
    const Tensor arrived = room.narrow(0, mine.numel());
    comm::Work sending = peers.isend(chunk(rank - step), right);
    peers.recv(arrived, left);
    sending.wait();
    mine.reduce_(arrived, op);
  }

  // The finished chunks go round once more, straight into their places.
  for (int step = 0; step < size - 1; ++step) {
    comm::Work sending = peers.isend(chunk(rank + 1 - step), right);
    peers.recv(chunk(rank - step), left);
    sending.wait();
  }
  // <<< your code
}

}  // namespace lockstep::collectives
