// The loss of logits whose vocabulary is spread over a tensor-parallel group. Logits [B·T, V] are
// the largest tensor of a small model, and the loss needs three numbers of each row: its maximum,
// its sum of exponentials, and the logit at the label. The ranks exchange these and no logits.
//   t ranks of the group, this one is r; N = B·T rows; V tokens; S = ⌈V / t⌉ columns of a rank
//
//   forward    m = max over all ranks' columns              all-reduce (max) of [N]
//              s = Σ e^(z - m), p = z at the label          all-reduce (sum) of both
//              loss of a row = log s + m - p                the same on every rank
//   backward   (e^(z - m) / s - [label is this column])     local
//
// Rank r has columns r·S … (r+1)·S. t·S may be more than V: columns from V on are padding.
// Source: [SPP19] §3: the loss is fused with the product before it; [MEGATRON]'s
// vocab_parallel_cross_entropy, which has three all-reduces: the sums apart
#pragma once

#include <cstdint>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/tensor/softmax.hpp"

namespace lockstep::tensor_parallel {

// autograd::cross_entropy of the whole rows. A part: defined in solutions/12_tensor_parallel.
//   logits      [..., S], this rank's columns; what the columns of padding hold is not specified
//   labels      [...] int64 in [0, V), or the ignored label; the same on every rank
//   vocabulary  V
//   Returns     [1], the same bits on all ranks; float32 of logits that are halves
//   Gradient    of logits, this rank's columns of the whole loss's; 0 in the padding and in rows
//               whose label is ignored
//   Requires    every rank of the group records the same operations in the same order; the group
//               outlives the tape
//   Ensures     finite for logits of any finite size: exponentials of what is 0 or less only.
//               Padding enters no maximum, no sum and no gradient
//   Comm        forward at most three all-reduces of N numbers, or two with the sums in one of 2·N;
//               backward none. Never N·V
//   Memory      kept for backward: this rank's logits and two numbers of each row
//   Throws      ContractError on a label outside [0, V) that is not ignored, for the mean of none,
//               and when the columns are not ⌈V / t⌉, before anything is sent (of labels on a
//               device that is away, at the next to_host()); CommError when a peer is lost
//   Source      [SPP19] §3
Value vocab_parallel_cross_entropy(Tape& tape, comm::ProcessGroup& group, const Value& logits,
                                   const Tensor& labels, std::int64_t vocabulary,
                                   const ops::CrossEntropyOptions& options = {});

}  // namespace lockstep::tensor_parallel
