// The sum is made of the collectives that it consists of: each rank adds one part of the tensor,
// and all ranks gather the parts. What does not divide is padded.
#include <vector>

#include "engine/parallel/tensor/conjugate_operators.hpp"

namespace lockstep::tensor_parallel {
namespace {

Tensor sum_of(comm::ProcessGroup& group, const Tensor& x) {
  const std::int64_t ranks = group.size(), part = (x.numel() + ranks - 1) / ranks;
  const Tensor all = zeros({part * ranks}, x.dtype(), x.device());
  all.narrow(0, x.numel()).copy_(x.view({-1}));
  const Tensor mine = all.empty_like(part);
  group.reduce_scatter(all, mine, ReduceOp::sum);
  group.all_gather(mine, all);
  const Tensor sum = empty(x.shape(), x.dtype(), x.device());
  sum.view({-1}).copy_(all.narrow(0, x.numel()));
  return sum;
}

}  // namespace

Value enter_parallel(Tape& tape, comm::ProcessGroup& group, const Value& x) {
  comm::ProcessGroup* const ranks = &group;
  return tape.record(x.tensor, {x},
                     [ranks](const Tensor& grad) { return std::vector{sum_of(*ranks, grad)}; });
}

Value leave_parallel(Tape& tape, comm::ProcessGroup& group, const Value& partial) {
  return tape.record(sum_of(group, partial.tensor), {partial},
                     [](const Tensor& grad) { return std::vector{grad}; });
}

}  // namespace lockstep::tensor_parallel
