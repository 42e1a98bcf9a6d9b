// Recursion: the first place of a range gives the data to the first of its upper half.
#include "engine/collectives/broadcast.hpp"

namespace lockstep::collectives {
namespace {

struct Tree {
  comm::Peers& peers;
  const Tensor& data;
  int root;

  void spread(int first, int last) const {
    if (last - first < 2) return;
    const int size = peers.size();
    const int place = (peers.rank() - root + size) % size;
    const int middle = first + (last - first + 1) / 2;
    if (place == first) peers.send(data, (middle + root) % size);
    if (place == middle) peers.recv(data, (first + root) % size);
    if (place < middle) {
      spread(first, middle);
    } else {
      spread(middle, last);
    }
  }
};

}  // namespace

void broadcast(comm::Peers& peers, Tensor data, int root) {
  Tree{peers, data, root}.spread(0, peers.size());
}

}  // namespace lockstep::collectives
