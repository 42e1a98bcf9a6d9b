// The ring the other way round, with the longer chunks first and the receive posted before the
// send.
#include <algorithm>

#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {
namespace {

struct Chunks {
  Tensor data;
  std::int64_t size;
  Tensor operator()(std::int64_t c) const {
    const std::int64_t index = ((c % size) + size) % size;
    const std::int64_t length = data.numel() / size, longer = data.numel() % size;
    return data.narrow(index * length + std::min(index, longer), length + (index < longer ? 1 : 0));
  }
};

void reduce_scatter(comm::Peers& peers, const Chunks& chunk, ReduceOp op) {
  const int rank = peers.rank(), size = peers.size();
  for (int step = 1; step < size; ++step) {
    const Tensor mine = chunk(rank + step);
    const Tensor scratch = mine.empty_like(mine.numel());
    comm::Work receiving = peers.irecv(scratch, (rank + 1) % size);
    peers.send(chunk(rank + step - 1), (rank + size - 1) % size);
    receiving.wait();
    mine.reduce_(scratch, op);
  }
}

void all_gather(comm::Peers& peers, const Chunks& chunk) {
  const int rank = peers.rank(), size = peers.size();
  for (int step = 0; step + 1 < size; ++step) {
    comm::Work receiving = peers.irecv(chunk(rank + step), (rank + 1) % size);
    peers.send(chunk(rank + step - 1), (rank + size - 1) % size);
    receiving.wait();
  }
}

}  // namespace

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  const Chunks chunk{data, peers.size()};
  reduce_scatter(peers, chunk, op);
  all_gather(peers, chunk);
}

}  // namespace lockstep::collectives
