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
  const Value partial = autograd::linear(tape, x, weight);
  // Nobody else reads the product, so that it becomes the sum where it lies.
  group.all_reduce(partial.tensor, ReduceOp::sum);
  if (!bias) return partial;
  ops::add_row_(partial.tensor, bias->tensor);
  return tape.record(partial.tensor, {partial, *bias}, [](const Tensor& grad) {
    return std::vector<Tensor>{grad, ops::sum_rows(grad)};
  });
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
