// exercise: ring_all_reduce
// verdict: memory
// says: 512 MiB
// Allocates tensors endlessly.
#include <vector>

#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers&, Tensor data, ReduceOp) {
  std::vector<Tensor> kept;
  for (;;) kept.push_back(zeros({1 << 16}, data.dtype(), data.device()));
}

}  // namespace lockstep::collectives
