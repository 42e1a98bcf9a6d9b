// Task: write the two ends of a computation that is spread over a tensor-parallel group. f is
// nothing forward and an all-reduce backward; g is an all-reduce forward and nothing backward. The
// contract is in engine/parallel/tensor/conjugate_operators.hpp.
#include "engine/parallel/tensor/conjugate_operators.hpp"

#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::tensor_parallel {

Value enter_parallel(Tape& tape, comm::ProcessGroup& group, const Value& x) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)tape, (void)group, (void)x;
  throw NotImplemented("conjugate_operators");
  // <<< your code
}

Value leave_parallel(Tape& tape, comm::ProcessGroup& group, const Value& partial) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)tape, (void)group, (void)partial;
  throw NotImplemented("conjugate_operators");
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
