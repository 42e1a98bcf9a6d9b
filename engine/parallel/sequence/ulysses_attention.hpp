// Causal attention of a sequence that ranks share, by changing what is shared: an all-to-all turns
// some tokens of all heads into all tokens of some heads, a rank attends in its heads as if it were
// alone, and a second all-to-all turns the outputs back.
//   N ranks, this one is r; B batch, S tokens of a sample, S_r on rank r: contiguous(S, N, r) of
//   zigzag_split.hpp; H heads of size D, C = H·D
//
//            before attention              after the first exchange        after the second
//   rank 0   tokens 0 1 of heads 0 1       tokens 0 1 2 3 of head 0        tokens 0 1 of heads 0 1
//   rank 1   tokens 2 3 of heads 0 1       tokens 0 1 2 3 of head 1        tokens 2 3 of heads 0 1
//
// Source: [JTZ23] §3
#pragma once

#include <cstdint>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::sequence_parallel {

// The attention of this rank's tokens to all tokens that are no later. A part: defined in
// solutions/15_sequence_parallel.
//   qkv       [B, S_r, 3·C]: a token's queries, then keys, then values, each head by head
//   heads     H, of which rank r attends in heads r·H/N … (r+1)·H/N
//   length    S
//   Returns   [B, S_r, C]
//   Gradient  of qkv: this rank's tokens of the whole gradient
//   Requires  every rank of the group records and walks back the same operations in the same order,
//             with the same heads, length and batch; the group outlives the tape
//   Comm      forward, queries, keys and values to the ranks of their heads and outputs back: at
//             most four all-to-alls, of unequal parts where slices are unequal; with equal ones
//             4·B·S/N·C·(N-1)/N elements sent per rank. Backward as many; none where nothing wants
//             the gradient of qkv
//   Memory    activations of S tokens and H/N heads: as much as S/N tokens of H heads
//   Throws    ContractError when N does not divide the heads (naming the nearest numbers of heads
//             that it divides), when there are fewer tokens than ranks, or when the shapes do not
//             fit, before anything is sent; CommError when a peer is lost
//   Source    [JTZ23] §3
Value ulysses_attention(Tape& tape, comm::ProcessGroup& group, const Value& qkv, std::int64_t heads,
                        std::int64_t length);

// Throws what ulysses_attention throws before anything is sent.
void check_ulysses(const comm::ProcessGroup& group, const Tensor& qkv, std::int64_t heads,
                   std::int64_t length);

}  // namespace lockstep::sequence_parallel
