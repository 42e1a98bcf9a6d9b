// Task: write the two ends of a computation that is spread over a tensor-parallel group. f is
// nothing forward and an all-reduce backward; g is an all-reduce forward and nothing backward. The
// contract is in engine/parallel/tensor/conjugate_operators.hpp.
#include "engine/parallel/tensor/conjugate_operators.hpp"

#include <vector>

namespace lockstep::tensor_parallel {

Value enter_parallel(Tape& tape, comm::ProcessGroup& group, const Value& x) {
  // >>> your code
  return tape.record(x.tensor, {x}, [&group](const Tensor& grad) {
    Tensor sum = grad.clone(MemoryKind::activations);  // another operation may hold grad, too
    group.all_reduce(sum, ReduceOp::sum);
    return std::vector<Tensor>{sum};
  });
  // <<< your code
}

Value leave_parallel(Tape& tape, comm::ProcessGroup& group, const Value& partial) {
  // >>> your code
  Tensor sum = partial.tensor.clone(MemoryKind::activations);
  group.all_reduce(sum, ReduceOp::sum);
  return tape.record(std::move(sum), {partial},
                     [](const Tensor& grad) { return std::vector<Tensor>{grad}; });
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
