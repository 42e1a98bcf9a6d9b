#include "engine/parallel/sequence/ring_backward.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::sequence_parallel {
namespace {

// Both kinds of messages go between the same two ranks.
constexpr int block_tag = 0, gradient_tag = 1;

// A rank's neighbours, and whose block it has in each step.
struct Ring {
  int ranks, rank;
  std::span<const Positions> of_ranks;

  int right() const { return (rank + 1) % ranks; }
  int left() const { return (rank + ranks - 1) % ranks; }
  int owner(int step) const { return (rank + ranks - step) % ranks; }
  const Positions& positions(int owner) const { return of_ranks[static_cast<std::size_t>(owner)]; }
  Tensor room(const Tensor& like, int owner) const {
    return empty({like.size(0), positions(owner).count(), like.size(2)}, like.dtype(),
                 like.device());
  }
};

// Messages in flight, and the tensors that they fill.
struct Exchange {
  Tensor coming;
  comm::Work receiving, sending;
  void wait() {
    receiving.wait();
    sending.wait();
  }
};

}  // namespace

ops::AttentionGradients ring_attention_backward(comm::Peers& peers, const Tensor& grad,
                                                const Tensor& queries, Tensor keys_values,
                                                const ops::Attention& whole, std::int64_t heads,
                                                std::span<const Positions> of_ranks) {
  check_ring(peers, queries, keys_values, heads, of_ranks);
  const Ring ring{peers.size(), peers.rank(), of_ranks};
  ops::AttentionGradients all;
  Tensor block = std::move(keys_values), passing;  // a sum that is on its way through this rank
  for (int step = 0; step < ring.ranks; ++step) {
    const int owner = ring.owner(step);
    Exchange blocks, sums;
    if (step + 1 < ring.ranks) {
      blocks.coming = ring.room(block, ring.owner(step + 1));
      blocks.receiving = peers.irecv(blocks.coming, ring.left(), block_tag);
      blocks.sending = peers.isend(block, ring.right(), block_tag);
    }
    if (step >= 2) {  // what the left neighbour had after its last step
      sums.coming = ring.room(block, owner);
      sums.receiving = peers.irecv(sums.coming, ring.left(), gradient_tag);
      sums.sending = peers.isend(passing, ring.right(), gradient_tag);
    }
    Tensor mine;
    const ops::AttentionOptions options{heads, ring.positions(ring.rank), ring.positions(owner)};
    if (step == 0) {
      all = ops::attention_backward(grad, queries, block, whole, options);
    } else if (pairs_seen(options.queries, options.keys) > 0) {
      ops::AttentionGradients more = ops::attention_backward(grad, queries, block, whole, options);
      all.queries.reduce_(more.queries, ReduceOp::sum);
      mine = std::move(more.keys_values);
    }
    blocks.wait();
    sums.wait();
    if (mine.defined() && sums.coming.defined()) mine.reduce_(sums.coming, ReduceOp::sum);
    if (!mine.defined()) mine = sums.coming;
    if (!mine.defined() && step > 0) {
      mine = zeros(block.shape(), block.dtype(), block.device());
    }
    passing = std::move(mine);
    block = std::move(blocks.coming);
  }
  if (ring.ranks == 1) return all;
  Exchange last;
  last.coming = ring.room(all.keys_values, ring.rank);
  last.receiving = peers.irecv(last.coming, ring.left(), gradient_tag);
  last.sending = peers.isend(passing, ring.right(), gradient_tag);
  last.wait();
  all.keys_values.reduce_(last.coming, ReduceOp::sum);
  return all;
}

Value attend_in_ring(Tape& tape, comm::Peers& peers, const Value& qkv, std::int64_t heads,
                     const std::vector<Positions>& of_ranks) {
  LOCKSTEP_CHECK(qkv.tensor.shape().size() == 3 && qkv.tensor.size(2) % 3 == 0,
                 "attend_in_ring: qkv has shape ", text_of(qkv.tensor.shape()),
                 ", expected [batch, tokens, 3 · width]");
  const std::int64_t width = qkv.tensor.size(2) / 3;
  const Tensor queries = ops::narrow(qkv.tensor, 2, 0, width);
  Tensor keys_values = ops::narrow(qkv.tensor, 2, width, 2 * width);
  if (tape.mode() == GradMode::inference) {
    return tape.constant(
        ring_attention(peers, queries, std::move(keys_values), heads, of_ranks).output);
  }
  const ops::Attention whole = ring_attention(peers, queries, keys_values, heads, of_ranks);
  return tape.record(whole.output, {qkv},
                     [&peers, queries, keys_values, whole, heads, of_ranks](const Tensor& grad) {
                       const auto gradients = ring_attention_backward(
                           peers, grad, queries, keys_values, whole, heads, of_ranks);
                       const std::array parts{gradients.queries, gradients.keys_values};
                       return std::vector<Tensor>{ops::concatenate(parts, 2)};
                     });
}

}  // namespace lockstep::sequence_parallel
