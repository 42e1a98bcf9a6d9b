// Wrong on purpose: a rank computes its columns, and nothing else. The gradient of x is then only
// that of its own columns. (Nobody asks this part for the whole output.)
#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"

namespace lockstep::tensor_parallel {

Value column_parallel_linear(Tape& tape, comm::ProcessGroup& /*group*/, const Value& x,
                             const Value& weight, const std::optional<Value>& bias,
                             ColumnOutput /*output*/) {
  if (!bias) return autograd::linear(tape, x, weight);
  return autograd::linear(tape, x, weight, *bias);
}

}  // namespace lockstep::tensor_parallel
