// Right slices; but what was gathered from a slice that is kept stays for backward, in memory of
// its own: the device's account knows nothing of it.
#include <memory>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/tensor/sequence_parallel_region.hpp"
#include "engine/parallel/tensor/shares.hpp"
#include "engine/tensor/ops.hpp"

#ifndef LOCKSTEP_HOARD
#define LOCKSTEP_HOARD std::vector<std::byte>
#define LOCKSTEP_MADE_AGAIN(hoard, all) gathered(group, saved.get())
#endif

namespace lockstep::tensor_parallel {
namespace {

Tensor gathered(comm::ProcessGroup& group, const Tensor& slice) {
  const std::int64_t ranks = group.size(), batch = slice.size(0), tokens = slice.size(1);
  const Tensor all = empty({ranks, batch, tokens, slice.size(2)}, slice.dtype(), slice.device(),
                           MemoryKind::activations);
  group.all_gather(slice, all);
  return ops::transpose(all, 0, 1).view({batch, ranks * tokens, slice.size(2)});
}

Tensor scattered(comm::ProcessGroup& group, const Tensor& whole) {
  const std::int64_t ranks = group.size(), batch = whole.size(0), width = whole.size(2);
  const std::int64_t tokens = equal_share("tokens", whole.size(1), group.size());
  Tensor slice = empty({batch, tokens, width}, whole.dtype(), whole.device());
  group.reduce_scatter(ops::transpose(whole.view({batch, ranks, tokens, width}), 0, 1), slice,
                       ReduceOp::sum);
  return slice;
}

}  // namespace

Value gather_sequence(Tape& tape, comm::ProcessGroup& group, const Value& slice, Kept kept) {
  LOCKSTEP_CHECK(slice.tensor.shape().size() == 3, "three dimensions");
  const Tensor all = gathered(group, slice.tensor);
  const auto bytes = all.raw_bytes();
  const auto hoard = std::make_shared<LOCKSTEP_HOARD>();
  hoard->assign(bytes.begin(), bytes.end());
  Value whole = tape.record(all, {slice}, [&group, hoard](const Tensor& grad) {
    return std::vector<Tensor>{scattered(group, grad)};
  });
  if (kept == Kept::slice && whole.node >= 0) {
    whole.remake =
        std::make_shared<const Remake>([&group, saved = Saved(slice), hoard, shape = all.shape()] {
          return LOCKSTEP_MADE_AGAIN(*hoard, shape);
        });
  }
  return whole;
}

Value scatter_sum_sequence(Tape& tape, comm::ProcessGroup& group, const Value& partial) {
  LOCKSTEP_CHECK(partial.tensor.shape().size() == 3, "three dimensions");
  return tape.record(scattered(group, partial.tensor), {partial}, [&group](const Tensor& grad) {
    return std::vector<Tensor>{gathered(group, grad)};
  });
}

void sum_slice_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  if (parameters.empty()) return;
  std::int64_t count = 0;
  for (const Parameter* parameter : parameters) count += parameter->value.numel();
  const Tensor& like = parameters.front()->value;
  const Tensor all = zeros({count}, like.dtype(), like.device());
  std::int64_t at = 0;
  for (const Parameter* parameter : parameters) {
    const Tensor place = all.narrow(at, parameter->value.numel());
    if (parameter->grad.defined()) place.copy_(parameter->grad);
    at += parameter->value.numel();
  }
  group.all_reduce(all, ReduceOp::sum);
  at = 0;
  for (Parameter* parameter : parameters) {
    parameter->grad = all.narrow(at, parameter->value.numel()).clone(MemoryKind::gradients);
    at += parameter->value.numel();
  }
}

}  // namespace lockstep::tensor_parallel
