// Task: let each rank of a tensor-parallel group have a slice of every sequence between the layers.
// An all-gather and a reduce-scatter take the places of f and g, each the other's backward. The
// contract is in engine/parallel/tensor/sequence_parallel_region.hpp.
#include "engine/parallel/tensor/sequence_parallel_region.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/tensor/shares.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::tensor_parallel {

// >>> your code
// <<< your code

Value gather_sequence(Tape& tape, comm::ProcessGroup& group, const Value& slice, Kept kept) {
  LOCKSTEP_CHECK(slice.tensor.shape().size() == 3, "gather_sequence: a slice of shape ",
                 text_of(slice.tensor.shape()), ", expected [batch, tokens, width]");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)tape, (void)group, (void)slice, (void)kept;
  throw NotImplemented("sequence_parallel_region");
  // <<< your code
}

Value scatter_sum_sequence(Tape& tape, comm::ProcessGroup& group, const Value& partial) {
  LOCKSTEP_CHECK(partial.tensor.shape().size() == 3, "scatter_sum_sequence: a tensor of shape ",
                 text_of(partial.tensor.shape()), ", expected [batch, tokens, width]");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)tape, (void)group, (void)partial;
  throw NotImplemented("sequence_parallel_region");
  // <<< your code
}

void sum_slice_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)parameters;
  throw NotImplemented("sequence_parallel_region");
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
