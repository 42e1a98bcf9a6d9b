// Task: all-reduce by recursive halving and doubling. In each step of the first phase two ranks
// hold partial results of the same elements and split them: each sends one half and reduces the
// other. After log₂P steps a rank has 1/P of the elements, finished. The second phase walks the
// same steps backwards and joins the halves. If N is no power of two, the N-P extra ranks send
// their whole buffer to a partner first and receive the result last. D may be 0, smaller than N,
// or odd at any step. Use narrow, copy_, reduce_, empty_like and numel. The contract is in
// engine/collectives/halving_doubling_all_reduce.hpp.
#include "engine/collectives/halving_doubling_all_reduce.hpp"

#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void halving_doubling_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)peers, (void)data, (void)op;
  throw NotImplemented("halving_doubling_all_reduce");
  // <<< your code
}

}  // namespace lockstep::collectives
