// Megatron's sequence parallelism: between the tensor-parallel layers, where every rank would hold
// and compute the same, a rank has its slice of each sequence. Norms and dropout treat tokens one
// by one, so slices are enough for them, and activations there are 1/t.
//   t ranks of the group, this one is r; B batch, T tokens, C width; slice r is tokens r·T/t …
//   (r+1)·T/t of each sample
//
//                            forward                      backward
//   gather_sequence        all-gather                   reduce-scatter   in front of a column layer
//   scatter_sum_sequence   reduce-scatter               all-gather       behind a row layer
//
// Each is the other's backward. An all-reduce is a reduce-scatter and an all-gather, so the pair
// sends as many bytes as f and g (conjugate_operators.hpp).
// Source: [KCL22] §4.2.2, figure 5: g and ḡ
#pragma once

#include <cstdint>
#include <span>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::tensor_parallel {

// Backward reads a gathered tensor. It is kept whole until then, or only this rank's slice is, from
// which it is gathered again (Value::remake).
enum class Kept : std::uint8_t { whole, slice };

// Begins what the ranks of `group` compute in shares, from slices. A part, together with the two
// below: defined in solutions/12_tensor_parallel.
//   slice     [B, T/t, C], of a floating type
//   Returns   [B, T, C], each sample's slices in the order of the ranks; the same on every rank
//   Gradient  that of `slice` is this rank's slice of the sum over the ranks of the gradients
//             {partial: tp} that arrive here
//   Requires  every rank of the group records and walks back the same operations in the same order,
//             and has as many tokens; the group outlives the tape
//   Comm      forward one all-gather, backward one reduce-scatter: (t-1)/t · B·T·C elements sent
//             per rank each. With Kept::slice, at most one all-gather more for each operation that
//             reads the gathered tensor in backward. In backward, none where nothing wants the
//             gradient
//   Memory    with Kept::slice, a t-th of the gathered tensor stays for backward, until it is read
//   Throws    ContractError unless the slice is [B, T/t, C]; CommError when a peer is lost or the
//             ranks' slices differ in size
//   Source    [KCL22] §4.2.2; [MEGATRON]'s gather_from_sequence_parallel_region
Value gather_sequence(Tape& tape, comm::ProcessGroup& group, const Value& slice, Kept kept);

// Ends it.
//   partial   [B, T, C] {partial: tp}, of a floating type
//   Returns   [B, T/t, C]: this rank's slice of the sum over the ranks
//   Gradient  that of `partial` is the slices that arrive on all ranks, gathered
//   Comm      forward one reduce-scatter, backward one all-gather: (t-1)/t · B·T·C elements sent
//             per rank each
//   Throws    ContractError unless partial is [B, T, C], or when ranks do not divide T (naming the
//             nearest lengths that they divide), before anything is sent; CommError when a peer is
//             lost
//   Source    [KCL22] §4.2.2; [MEGATRON]'s reduce_scatter_to_sequence_parallel_region
Value scatter_sum_sequence(Tape& tape, comm::ProcessGroup& group, const Value& partial);

// Sums over the ranks the gradients of parameters that every rank has whole and uses on its slice:
// weights and biases of norms, and biases that are added behind a reduce-scatter. After backward,
// each rank has the terms of its own tokens.
//   parameters  the same list on every rank, of one dtype and device
//   Ensures     each grad is the sum over the ranks, the same bits on all of them; a parameter
//               without a grad adds zeros, and has one afterwards
//   Comm        one all-reduce of the elements of all parameters; none where there are none
//   Memory      one copy of these gradients
//   Throws      CommError when a peer is lost
//   Source      [MEGATRON]'s finalize_model_grads, with `sequence_parallel` set on these parameters
void sum_slice_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters);

}  // namespace lockstep::tensor_parallel
