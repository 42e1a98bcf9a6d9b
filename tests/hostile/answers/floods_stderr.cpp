// exercise: ring_all_reduce
// verdict: output
// says: printed more than
// Prints without an end, on all ranks at once, no newline.
#include <iostream>
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)peers, (void)data, (void)op;
  while (true) std::cerr << "again and again ";
}

}  // namespace lockstep::collectives
