// exercise: ring_all_reduce
// verdict: time
// says: endless loop
// All ranks compute endlessly, more of them than there are processors.
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)peers, (void)data, (void)op;
  volatile int turns = 0;
  while (true) turns = turns + 1;
}

}  // namespace lockstep::collectives
