// exercise: ring_all_reduce
// verdict: crash
// says: a result that cannot be read
// Every rank sends a forged empty result and waits.
#include <unistd.h>
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)peers, (void)data, (void)op;
  const char frame[] = "\0\0\0\0\x13\0\0\0\0\0\0\0";
  static_cast<void>(!::write(3, frame, 12));
  ::pause();
}

}  // namespace lockstep::collectives
