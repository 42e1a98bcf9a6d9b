// Tokens are copied to their places sample by sample, no axes are exchanged; collectives are
// asynchronous; summed gradients are views of one tensor.
#include <algorithm>
#include <memory>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/tensor/sequence_parallel_region.hpp"

namespace lockstep::tensor_parallel {
namespace {

struct Slices {
  std::int64_t samples, tokens, width, ranks;

  // Calls visit(in one tensor after the other, in whole sequences, count) for each run of elements.
  void visit(const auto& function) const {
    const std::int64_t run = tokens * width;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      for (std::int64_t sample = 0; sample < samples; ++sample) {
        function((rank * samples + sample) * run, (sample * ranks + rank) * run, run);
      }
    }
  }
};

Tensor to_whole(comm::ProcessGroup& group, const Tensor& slice) {
  const Slices s{slice.size(0), slice.size(1), slice.size(2), group.size()};
  const Tensor came = slice.empty_like(slice.numel() * s.ranks);
  group.all_gather_async(slice, came).wait();
  Tensor whole = empty({s.samples, s.ranks * s.tokens, s.width}, slice.dtype(), slice.device(),
                       MemoryKind::activations);
  const Tensor flat = whole.view({-1});
  s.visit([&](std::int64_t from, std::int64_t to, std::int64_t count) {
    flat.narrow(to, count).copy_(came.narrow(from, count));
  });
  return whole;
}

Tensor to_slice(comm::ProcessGroup& group, const Tensor& whole) {
  LOCKSTEP_CHECK(whole.size(1) % group.size() == 0, whole.size(1), " tokens do not divide");
  const Slices s{whole.size(0), whole.size(1) / group.size(), whole.size(2), group.size()};
  const Tensor goes = whole.empty_like(whole.numel()), flat = whole.view({-1});
  s.visit([&](std::int64_t to, std::int64_t from, std::int64_t count) {
    goes.narrow(to, count).copy_(flat.narrow(from, count));
  });
  Tensor slice =
      empty({s.samples, s.tokens, s.width}, whole.dtype(), whole.device(), MemoryKind::activations);
  group.reduce_scatter_async(goes, slice, ReduceOp::sum).wait();
  return slice;
}

}  // namespace

Value gather_sequence(Tape& tape, comm::ProcessGroup& group, const Value& slice, Kept kept) {
  LOCKSTEP_CHECK(slice.tensor.shape().size() == 3, "three dimensions");
  comm::ProcessGroup* const ranks = &group;
  Value whole = tape.record(to_whole(group, slice.tensor), {slice}, [ranks](const Tensor& grad) {
    return std::vector<Tensor>{to_slice(*ranks, grad)};
  });
  const Saved saved(slice);
  if (kept == Kept::slice) {
    whole.remake =
        std::make_shared<const Remake>([ranks, saved] { return to_whole(*ranks, saved.get()); });
  }
  return whole;
}

Value scatter_sum_sequence(Tape& tape, comm::ProcessGroup& group, const Value& partial) {
  LOCKSTEP_CHECK(partial.tensor.shape().size() == 3, "three dimensions");
  return tape.record(to_slice(group, partial.tensor), {partial}, [&group](const Tensor& grad) {
    return std::vector<Tensor>{to_whole(group, grad)};
  });
}

void sum_slice_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  if (parameters.empty()) return;
  std::int64_t count = 0;
  for (const Parameter* parameter : parameters) count += parameter->value.numel();
  const Tensor& like = parameters.front()->value;
  const Tensor all = zeros({count}, like.dtype(), like.device(), MemoryKind::gradients);
  std::int64_t start = 0;
  for (Parameter* parameter : parameters) {
    const Tensor& value = parameter->value;
    const Tensor view = all.narrow(start, value.numel()).view(value.shape());
    if (parameter->grad.defined()) view.copy_(parameter->grad);
    parameter->grad = view;
    start += value.numel();
  }
  if (count > 0) group.all_reduce(all, ReduceOp::sum);
}

}  // namespace lockstep::tensor_parallel
