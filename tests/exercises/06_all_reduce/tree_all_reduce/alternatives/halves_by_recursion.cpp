// Another tree of as many steps: each half of the ranks has a root of its own, the first of them,
// and so has each half of a half.
#include "engine/collectives/tree_all_reduce.hpp"

namespace lockstep::collectives {
namespace {

struct Half {
  int first, last;  // ranks [first, last)
  int middle() const { return first + (last - first + 1) / 2; }
  bool is_one() const { return last - first < 2; }
  Half of(int rank) const { return rank < middle() ? Half{first, middle()} : Half{middle(), last}; }
};

void collect(comm::Peers& peers, const Tensor& data, const Tensor& share, ReduceOp op, Half ranks) {
  if (ranks.is_one()) return;
  collect(peers, data, share, op, ranks.of(peers.rank()));
  if (peers.rank() == ranks.middle()) peers.send(data, ranks.first);
  if (peers.rank() == ranks.first) {
    peers.recv(share, ranks.middle());
    data.reduce_(share, op);
  }
}

void hand_out(comm::Peers& peers, const Tensor& data, Half ranks) {
  if (ranks.is_one()) return;
  if (peers.rank() == ranks.first) peers.send(data, ranks.middle());
  if (peers.rank() == ranks.middle()) peers.recv(data, ranks.first);
  hand_out(peers, data, ranks.of(peers.rank()));
}

}  // namespace

void tree_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  const Half all{0, peers.size()};
  collect(peers, data, data.empty_like(data.numel()), op, all);
  hand_out(peers, data, all);
}

}  // namespace lockstep::collectives
