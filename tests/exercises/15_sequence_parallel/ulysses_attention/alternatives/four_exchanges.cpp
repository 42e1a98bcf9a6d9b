// Queries, keys, values and outputs are exchanged each by itself. What goes to a rank is cut out of
// the tensor, and what comes is put together.
#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/sequence/ulysses_attention.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::sequence_parallel {
namespace {

using Counts = std::vector<std::int64_t>;

// Parts, one after the other, as they are sent; and what came, cut into tensors of these shapes.
std::vector<Tensor> exchanged(comm::ProcessGroup& group, const std::vector<Tensor>& parts,
                              const std::vector<Shape>& shapes) {
  std::vector<Tensor> flat;
  Counts to, from;
  std::int64_t all = 0;
  for (const Tensor& part : parts) {
    flat.push_back(part.view({-1}));
    to.push_back(part.numel());
  }
  for (const Shape& shape : shapes) {
    from.push_back(shape[0] * shape[1] * shape[2]);
    all += from.back();
  }
  const Tensor in = ops::concatenate(flat, 0), out = in.empty_like(all);
  group.all_to_all(in, out, to, from);
  std::vector<Tensor> came;
  std::int64_t first = 0;
  for (std::size_t rank = 0; rank < shapes.size(); ++rank) {
    came.push_back(out.narrow(first, from[rank]).view(shapes[rank]));
    first += from[rank];
  }
  return came;
}

// [B, S_r, C] → [B, S, C/N]
Tensor to_heads(comm::ProcessGroup& group, std::int64_t length, const Tensor& x) {
  const std::int64_t own = x.size(2) / group.size();
  std::vector<Tensor> parts;
  std::vector<Shape> shapes;
  for (int rank = 0; rank < group.size(); ++rank) {
    parts.push_back(ops::narrow(x, 2, rank * own, own));
    shapes.push_back({x.size(0), contiguous(length, group.size(), rank).count(), own});
  }
  return ops::concatenate(exchanged(group, parts, shapes), 1);
}
// [B, S, C/N] → [B, S_r, C]
Tensor to_tokens(comm::ProcessGroup& group, std::int64_t length, const Tensor& x) {
  const std::int64_t mine = contiguous(length, group.size(), group.rank()).count();
  std::vector<Tensor> parts;
  std::vector<Shape> shapes;
  for (int rank = 0; rank < group.size(); ++rank) {
    const TokenRange tokens = contiguous(length, group.size(), rank).early;
    parts.push_back(ops::narrow(x, 1, tokens.first, tokens.count));
    shapes.push_back({x.size(0), mine, x.size(2)});
  }
  return ops::concatenate(exchanged(group, parts, shapes), 2);
}

}  // namespace

Value ulysses_attention(Tape& tape, comm::ProcessGroup& group, const Value& qkv, std::int64_t heads,
                        std::int64_t length) {
  check_ulysses(group, qkv.tensor, heads, length);
  const std::int64_t width = qkv.tensor.size(2) / 3, own = width / group.size();
  std::vector<Tensor> kinds;
  for (std::int64_t kind = 0; kind < 3; ++kind) {
    kinds.push_back(to_heads(group, length, ops::narrow(qkv.tensor, 2, kind * width, width)));
  }
  const Value mine =
      tape.record(ops::concatenate(kinds, 2), {qkv}, [&group, length, own](const Tensor& grad) {
        std::vector<Tensor> back;
        for (std::int64_t kind = 0; kind < 3; ++kind) {
          back.push_back(to_tokens(group, length, ops::narrow(grad, 2, kind * own, own)));
        }
        return std::vector<Tensor>{ops::concatenate(back, 2)};
      });
  const Value output = autograd::causal_attention(tape, mine, heads / group.size());
  return tape.record(to_tokens(group, length, output.tensor), {output},
                     [&group, length](const Tensor& grad) {
                       return std::vector<Tensor>{to_heads(group, length, grad)};
                     });
}

}  // namespace lockstep::sequence_parallel
