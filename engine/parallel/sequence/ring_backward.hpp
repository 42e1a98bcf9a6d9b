// The backward pass of ring_attention, and the two passes as one operation of a tape.
//   N ranks, this one is r; B batch, S tokens of a sample, C width
//
// Keys and values go round once more, since every rank makes its probabilities again from scores
// and final log-sums. A block's gradient has a term of each rank. What the owner finds stays at
// home; its right neighbour begins a sum that each further rank adds to, until it is at home after
// N-1 messages. If the sum began at home it would take N.
// Source: [LZA23] §3
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/parallel/sequence/ring_attention.hpp"

namespace lockstep::sequence_parallel {

// The gradients of what ring_attention was given.
//   grad   [B, S_r, C], of its output
//   whole  what it returned
//   Comm   with equal slices (N-1)·2·B·S/N·C elements sent per rank of keys and values, and as many
//          of their gradients; all to the right
//   Memory two blocks of keys and values, and three of their gradients
//   Throws as ring_attention
ops::AttentionGradients ring_attention_backward(comm::Peers& peers, const Tensor& grad,
                                                const Tensor& queries, Tensor keys_values,
                                                const ops::Attention& whole, std::int64_t heads,
                                                std::span<const Positions> of_ranks);

// Causal attention of qkv [B, S_r, 3·C] by the two → [B, S_r, C]. The peers outlive the tape.
Value attend_in_ring(Tape& tape, comm::Peers& peers, const Value& qkv, std::int64_t heads,
                     const std::vector<Positions>& of_ranks);

}  // namespace lockstep::sequence_parallel
