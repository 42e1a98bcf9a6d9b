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
namespace {

// [B, T/t, C] of each rank → [B, T, C]: what comes is rank after rank, and wanted is sample after
// sample.
Tensor gathered(comm::ProcessGroup& group, const Tensor& slice) {
  const std::int64_t ranks = group.size(), batch = slice.size(0), tokens = slice.size(1),
                     width = slice.size(2);
  const Tensor all =
      empty({ranks, batch, tokens, width}, slice.dtype(), slice.device(), MemoryKind::activations);
  group.all_gather(slice, all);
  const Tensor by_sample = batch == 1 ? all : ops::transpose(all, 0, 1);
  return by_sample.view({batch, ranks * tokens, width});
}

// [B, T, C] {partial: tp} → [B, T/t, C], this rank's slice of the sum.
Tensor scattered_sum(comm::ProcessGroup& group, const Tensor& partial) {
  const std::int64_t ranks = group.size(), batch = partial.size(0), width = partial.size(2);
  const std::int64_t tokens = equal_share("tokens of a sequence", partial.size(1), group.size());
  const Tensor by_sample = partial.view({batch, ranks, tokens, width});
  const Tensor by_rank = batch == 1 ? by_sample : ops::transpose(by_sample, 0, 1);
  Tensor slice =
      empty({batch, tokens, width}, partial.dtype(), partial.device(), MemoryKind::activations);
  group.reduce_scatter(by_rank, slice, ReduceOp::sum);
  return slice;
}

}  // namespace
// <<< your code

Value gather_sequence(Tape& tape, comm::ProcessGroup& group, const Value& slice, Kept kept) {
  LOCKSTEP_CHECK(slice.tensor.shape().size() == 3, "gather_sequence: a slice of shape ",
                 text_of(slice.tensor.shape()), ", expected [batch, tokens, width]");
  // >>> your code
  Value whole = tape.record(gathered(group, slice.tensor), {slice}, [&group](const Tensor& grad) {
    return std::vector<Tensor>{scattered_sum(group, grad)};
  });
  if (kept == Kept::slice && whole.node >= 0) {
    whole.remake = std::make_shared<const Remake>(
        [&group, saved = Saved(slice)] { return gathered(group, saved.get()); });
  }
  return whole;
  // <<< your code
}

Value scatter_sum_sequence(Tape& tape, comm::ProcessGroup& group, const Value& partial) {
  LOCKSTEP_CHECK(partial.tensor.shape().size() == 3, "scatter_sum_sequence: a tensor of shape ",
                 text_of(partial.tensor.shape()), ", expected [batch, tokens, width]");
  // >>> your code
  return tape.record(scattered_sum(group, partial.tensor), {partial}, [&group](const Tensor& grad) {
    return std::vector<Tensor>{gathered(group, grad)};
  });
  // <<< your code
}

void sum_slice_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  // >>> your code
  std::int64_t count = 0;
  for (const Parameter* parameter : parameters) count += parameter->value.numel();
  if (count == 0) return;
  const Tensor& first = parameters.front()->value;
  const Tensor all = zeros({count}, first.dtype(), first.device());
  std::int64_t at = 0;
  for (const Parameter* parameter : parameters) {
    const std::int64_t size = parameter->value.numel();
    if (parameter->grad.defined()) all.narrow(at, size).copy_(parameter->grad);
    at += size;
  }
  group.all_reduce(all, ReduceOp::sum);
  at = 0;
  for (Parameter* parameter : parameters) {
    const std::int64_t size = parameter->value.numel();
    if (!parameter->grad.defined()) {
      const Tensor& value = parameter->value;
      parameter->grad = empty(value.shape(), first.dtype(), first.device(), MemoryKind::gradients);
    }
    parameter->grad.copy_(all.narrow(at, size));
    at += size;
  }
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
