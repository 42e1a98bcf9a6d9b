// The layer of one device without its bias, g behind it, and then the bias.
#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/parallel/tensor/row_parallel_linear.hpp"

namespace lockstep::tensor_parallel {

Value row_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                          const Value& weight, const std::optional<Value>& bias) {
  LOCKSTEP_CHECK(!bias || bias->tensor.numel() == weight.tensor.size(0), "a bias of ",
                 bias->tensor.numel(), " elements for ", weight.tensor.size(0), " outputs");
  const Value y = leave_parallel(tape, group, autograd::linear(tape, x, weight));
  return bias ? autograd::add(tape, y, *bias) : y;
}

}  // namespace lockstep::tensor_parallel
