// exercise: ring_all_reduce
// verdict: memory
// says: 512 MiB
// Allocates tensors endlessly, and writes to none.
#include <vector>

#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers&, Tensor data, ReduceOp) {
  std::vector<Tensor> kept;
  for (;;) kept.push_back(data.empty_like(1 << 16));
}

}  // namespace lockstep::collectives
