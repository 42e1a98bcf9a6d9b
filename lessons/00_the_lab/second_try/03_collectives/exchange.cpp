// A second try at exchange, for lesson 00: one rank receives first, so that the others can go on.
#include <iostream>

#include "engine/collectives/exchange.hpp"

namespace lockstep::collectives {

void exchange(comm::Peers& peers, const Tensor& mine, Tensor from_left) {
  const int right = (peers.rank() + 1) % peers.size();
  const int left = (peers.rank() + peers.size() - 1) % peers.size();
  if (peers.size() == 1) return from_left.copy_(mine);
  if (peers.rank() == 0) peers.recv(from_left, left);
  peers.send(mine, right);
  if (peers.rank() != 0) peers.recv(from_left, left);
  std::cout << "received from rank " << left << ", elements: " << from_left.numel() << "\n";
}

}  // namespace lockstep::collectives
