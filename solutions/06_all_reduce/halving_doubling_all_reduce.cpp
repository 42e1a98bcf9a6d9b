// Task: all-reduce by recursive halving and doubling. In each step of the first phase two ranks
// hold partial results of the same elements and split them: each sends one half and reduces the
// other. After log₂P steps a rank has 1/P of the elements, finished. The second phase walks the
// same steps backwards and joins the halves. If N is no power of two, the N-P extra ranks send
// their whole buffer to a partner first and receive the result last. D may be 0, smaller than N,
// or odd at any step. Use narrow, copy_, reduce_, empty_like and numel. The contract is in
// engine/collectives/halving_doubling_all_reduce.hpp.
#include "engine/collectives/halving_doubling_all_reduce.hpp"

#include <vector>

namespace lockstep::collectives {

void halving_doubling_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  // >>> your code
  const int rank = peers.rank();
  const int size = peers.size();
  int inner = 1;  // ranks that halve and double
  while (2 * inner <= size) inner *= 2;

  if (rank >= inner) {
    peers.send(data, rank - inner);
    peers.recv(data, rank - inner);
  } else {
    const Tensor room = data.empty_like(data.numel());
    if (rank + inner < size) {
      peers.recv(room, rank + inner);
      data.reduce_(room, op);
    }

    // Halving: partners hold partial results of the same elements, and split them.
    std::vector<Tensor> kept, given;
    Tensor mine = data;
    for (int apart = inner / 2; apart > 0; apart /= 2) {
      const std::int64_t middle = (mine.numel() + 1) / 2;
      const Tensor lower = mine.narrow(0, middle);
      const Tensor upper = mine.narrow(middle, mine.numel() - middle);
      const bool keeps_lower = (rank & apart) == 0;
      kept.push_back(keeps_lower ? lower : upper);
      given.push_back(keeps_lower ? upper : lower);
      mine = kept.back();
      const Tensor arrived = room.narrow(0, mine.numel());
      comm::Work sending = peers.isend(given.back(), rank ^ apart);
      peers.recv(arrived, rank ^ apart);
      sending.wait();
      mine.reduce_(arrived, op);
    }

    // Doubling: the same partners backwards; each half that was given away comes back finished.
    for (int apart = 1; apart < inner; apart *= 2) {
      comm::Work sending = peers.isend(kept.back(), rank ^ apart);
      peers.recv(given.back(), rank ^ apart);
      sending.wait();
      kept.pop_back();
      given.pop_back();
    }

    if (rank + inner < size) peers.send(data, rank + inner);
  }
  // <<< your code
}

}  // namespace lockstep::collectives
