// A right layer that keeps a copy of its weight, in memory of its own: the device's account knows
// nothing of it.
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/parallel/tensor/row_parallel_linear.hpp"

namespace lockstep::tensor_parallel {

Value row_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                          const Value& weight, const std::optional<Value>& bias) {
  LOCKSTEP_CHECK(!bias || bias->tensor.numel() == weight.tensor.size(0), "another bias");
  const auto bytes = weight.tensor.raw_bytes();
  const std::vector<std::byte> hoard(bytes.begin(), bytes.end());
  const Value made = leave_parallel(tape, group, autograd::linear(tape, x, weight));
  const Value y = tape.record(made.tensor, {made}, [hoard](const Tensor& grad) {
    return std::vector{hoard.empty() ? grad.clone() : grad};
  });
  return bias ? autograd::add(tape, y, *bias) : y;
}

}  // namespace lockstep::tensor_parallel
