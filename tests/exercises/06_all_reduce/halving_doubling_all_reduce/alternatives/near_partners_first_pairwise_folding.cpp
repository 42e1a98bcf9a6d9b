// Near partners first, and the odd ones among the first 2(N-P) ranks are folded into the rank below
// them, as MPICH does it. Recursive: each level halves, goes down, and doubles on its way back.
#include "engine/collectives/halving_doubling_all_reduce.hpp"

namespace lockstep::collectives {
namespace {

struct Inner {
  comm::Peers& peers;
  int place, places, folded;
  int rank_at(int at) const { return at < folded ? 2 * at : at + folded; }
};

void swap_halves(const Inner& inner, const Tensor& leaving, const Tensor& coming, int apart) {
  const int partner = inner.rank_at(inner.place ^ apart);
  comm::Work receiving = inner.peers.irecv(coming, partner);
  inner.peers.send(leaving, partner);
  receiving.wait();
}

void halve_and_double(const Inner& inner, const Tensor& data, ReduceOp op, int apart) {
  if (apart == inner.places) return;
  const std::int64_t cut = data.numel() / 2;
  const Tensor halves[] = {data.narrow(0, cut), data.narrow(cut, data.numel() - cut)};
  const bool upper = (inner.place & apart) != 0;
  const Tensor mine = halves[upper ? 1 : 0], theirs = halves[upper ? 0 : 1];
  const Tensor share = mine.empty_like(mine.numel());
  swap_halves(inner, theirs, share, apart);
  mine.reduce_(share, op);
  halve_and_double(inner, mine, op, 2 * apart);
  swap_halves(inner, mine, theirs, apart);
}

}  // namespace

void halving_doubling_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  const int rank = peers.rank(), size = peers.size();
  int places = size;
  while ((places & (places - 1)) != 0) places &= places - 1;
  const int folded = size - places;
  if (rank < 2 * folded && rank % 2 == 1) {
    peers.send(data, rank - 1);
    peers.recv(data, rank - 1);
    return;
  }
  if (rank < 2 * folded) {
    const Tensor share = data.empty_like(data.numel());
    peers.recv(share, rank + 1);
    data.reduce_(share, op);
  }
  const int place = rank < 2 * folded ? rank / 2 : rank - folded;
  halve_and_double({peers, place, places, folded}, data, op, 1);
  if (rank < 2 * folded) peers.send(data, rank + 1);
}

}  // namespace lockstep::collectives
