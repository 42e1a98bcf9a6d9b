// Made of f and g: between them, a layer of one device with fewer heads.
#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/parallel/tensor/parallel_attention.hpp"
#include "engine/parallel/tensor/shares.hpp"

namespace lockstep::tensor_parallel {

std::array<RowRange, 3> qkv_rows(std::int64_t width, std::int64_t heads, int ranks, int rank) {
  LOCKSTEP_CHECK(heads > 0 && width % heads == 0 && rank >= 0 && rank < ranks, "nonsense");
  const std::int64_t per_rank = equal_share("heads", heads, ranks), size = width / heads;
  std::array<RowRange, 3> all;
  for (std::int64_t which = 0; which < 3; ++which) {
    all[static_cast<std::size_t>(which)] = {(which * heads + rank * per_rank) * size,
                                            per_rank * size};
  }
  return all;
}

Value parallel_attention(Tape& tape, comm::ProcessGroup& group, const Value& x,
                         const AttentionShare& share, std::int64_t heads) {
  const std::int64_t per_rank = equal_share("heads", heads, group.size());
  const Value entered = enter_parallel(tape, group, x);
  const Value qkv = autograd::linear(tape, entered, share.qkv_weight, share.qkv_bias);
  const Value attended = autograd::causal_attention(tape, qkv, per_rank);
  const Value term = autograd::linear(tape, attended, share.proj_weight);
  return autograd::add(tape, leave_parallel(tape, group, term), share.proj_bias);
}

}  // namespace lockstep::tensor_parallel
