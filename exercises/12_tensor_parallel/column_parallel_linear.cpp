// Task: write the linear layer of which each rank has some of the outputs. Forward is local; the
// gradient of x is a sum over the ranks. The contract is in
// engine/parallel/tensor/column_parallel_linear.hpp.
#include "engine/parallel/tensor/column_parallel_linear.hpp"

#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::tensor_parallel {

// >>> your code
// <<< your code

Value column_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                             const Value& weight, const std::optional<Value>& bias,
                             ColumnOutput output) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)tape, (void)group, (void)x, (void)weight, (void)bias, (void)output;
  throw NotImplemented("column_parallel_linear");
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
