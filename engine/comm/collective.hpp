// One collective as a value: what a rank brings to its group and what it wants from it.
// ProcessGroup checks the arguments and makes the value; a backend carries it out; nothing else
// stands between.
//
//   N ranks, this one is r. What must agree on all of them: kind, op, root, dtype, count, and of an
//   all_gather the counts. In an all_to_all, what i sends to j must be what j expects from i.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/sim/wire/collective_kinds.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::comm {

using CollectiveKind = sim::Collective;

//   kind            input              output             becomes
//   broadcast       [n] at the root    [n] (the same)     the root's
//   reduce          [n]                [n] at the root    Σ
//   all_reduce      [n]                [n] (the same)     Σ
//   gather          [n]                [N·n] at the root  rank 0's, rank 1's, …
//   scatter         [N·n] at the root  [n]                part r of the root's
//   all_gather      [n]                [N·n]              rank 0's, rank 1's, …
//   reduce_scatter  [N·n]              [n]                part r of Σ
//   all_to_all      [N·n]              [N·n]              part r of rank 0's, of rank 1's, …
//   barrier
//
// A tensor that a rank does not bring or get is undefined. Both may be the same memory where the
// table says so, of a reduce at the root; and the small one may be its place in the large one:
// `input` = part r of `output` in gather and all_gather, `output` = part r of `input` in scatter
// and reduce_scatter. Otherwise they do not overlap. Both are contiguous, of one dtype.
struct Collective {
  CollectiveKind kind = CollectiveKind::barrier;
  // An average is a sum of inputs of which each is multiplied by `share` first. They come
  // multiplied, and share is 1, unless the group does it (ProcessGroup::averaging).
  ReduceOp op = ReduceOp::sum;
  double share = 1;
  // An all_reduce multiplies the sum by it last. It is 1 unless the group averages within.
  double factor = 1;
  int root = -1;
  Tensor input = {}, output = {};
  // Unequal parts, else empty. all_gather: output_counts[i] is rank i's n. all_to_all:
  // input_counts[i] elements go to rank i, output_counts[i] come from it.
  std::vector<std::int64_t> input_counts = {}, output_counts = {};
  // Deadline of this call alone, in seconds; 0 is the group's.
  double timeout_s = 0;

  // n: elements of the small tensor of the table; 0 for all_to_all with unequal parts.
  std::int64_t count(int size) const;
  DType dtype() const;
  // No rank brings an element, so nothing needs to happen. The same on all ranks that agree.
  bool is_empty(int size) const;
};

// Elements of part i, equal or not, of what goes in or comes out.
std::int64_t part_count(std::span<const std::int64_t> counts, const Tensor& whole, int i, int size);
// The element at which part i begins.
std::int64_t part_start(std::span<const std::int64_t> counts, const Tensor& whole, int i, int size);
// Part i as a tensor; an empty one is undefined.
Tensor part_of(std::span<const std::int64_t> counts, const Tensor& whole, int i, int size);

// A collective without its tensors: what the ranks must agree on, and what is said of it.
struct Outline {
  CollectiveKind kind = CollectiveKind::barrier;
  ReduceOp op = ReduceOp::sum;
  int root = -1;
  DType dtype = DType::uint8;
  std::int64_t count = 0;                 // Collective::count
  std::vector<std::int64_t> counts = {};  // unequal parts: of all ranks, or what goes to each
};
Outline outline_of(const Collective& collective, int size);

// "all_reduce (sum) of 100 float32": with all that the ranks must agree on.
std::string text_of(const Outline& outline);
std::string text_of(const Collective& collective, int size);

// Payload this rank sends and in how many messages, by the algorithm that is usual for the kind,
// where a backend cannot count: all_reduce, reduce_scatter and all_gather a ring, broadcast and
// reduce a binomial tree, gather and scatter a star, all_to_all pairs.
struct Sent {
  std::int64_t bytes = 0, messages = 0;
};
Sent modelled_sent(const Collective& collective, int rank, int size);

}  // namespace lockstep::comm
