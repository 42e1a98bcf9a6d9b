// exercise: ring_all_reduce
// verdict: output
// says: printed more than
// Prints endlessly, on all ranks at once, without a newline.
#include <iostream>
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)peers, (void)data, (void)op;
  while (true) std::cerr << "again and again ";
}

}  // namespace lockstep::collectives
