// Task: write the linear layer of which each rank has some of the inputs. The ranks' products are
// terms of a sum, to which the bias is added once; backward is local. The contract is in
// engine/parallel/tensor/row_parallel_linear.hpp.
#include "engine/parallel/tensor/row_parallel_linear.hpp"

#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::tensor_parallel {

Value row_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                          const Value& weight, const std::optional<Value>& bias) {
  LOCKSTEP_CHECK(!bias || bias->tensor.shape() == Shape{weight.tensor.size(0)},
                 "row_parallel_linear: a bias of shape ", text_of(bias->tensor.shape()),
                 " for a weight ", text_of(weight.tensor.shape()), "; a row of weights has one");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)tape, (void)group, (void)x, (void)weight, (void)bias;
  throw NotImplemented("row_parallel_linear");
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
