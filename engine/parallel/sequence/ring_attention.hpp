// Causal attention of a sequence that ranks share. A rank keeps its queries, and the keys and
// values of all ranks pass by: each step, a rank passes the block that it has on to its right
// neighbour, and computes with it meanwhile. It merges the block's result into the one so far.
//   N ranks, this one is r; its neighbours are r+1 on the right and r-1 on the left, modulo N;
//   B batch, S tokens of a sample, S_r of them on rank r, H heads of size D, C = H·D
//
//   step        0      1      2     N = 3, whose block each rank computes with
//   rank 0      0      2      1
//   rank 1      1      0      2     under a causal mask a slice sees itself and what is before it:
//   rank 2      2      1      0     here rank 0 has nothing to do in steps 1 and 2
//   (zigzag_split.hpp)
//
// Source: [LZA23] §3: compute on a block hides the transfer of the next one
#pragma once

#include <cstdint>
#include <span>

#include "engine/comm/peers.hpp"
#include "engine/tensor/attention.hpp"
#include "engine/tensor/positions.hpp"

namespace lockstep::sequence_parallel {

// The attention of this rank's queries to the keys of all ranks. A part: defined in
// solutions/15_sequence_parallel.
//   queries      [B, S_r, C]
//   keys_values  [B, S_r, 2·C]: a token's keys, then its values. It is handed over: a caller that
//                moves it keeps no handle, so the block is freed when it has been sent. Its
//                elements are not changed, since the caller may have kept one
//   heads        H
//   of_ranks     the positions of each rank's tokens, by rank: N of them, the same on every rank
//   Returns      output [B, S_r, C] and log-sums [B, H, S_r] over all keys that are no later than
//                the query; bits may differ from one device's, numbers by rounding only
//   Ensures      the next block is on its way while this one is computed with. A block of which no
//                query of this rank sees anything is passed on, and costs no FLOPs: ops::attention
//                skips it by itself
//   Requires     every rank calls this with the same heads, positions and sizes but its own S_r,
//                which is 1 or more
//   Comm         N-1 messages to the right and N-1 from the left, each a whole block: with equal
//                slices (N-1)·2·B·S/N·C elements sent per rank; none on one rank
//   Memory       two blocks of keys and values at a time: the one that is computed with and sent,
//                and the one that comes; the output of one block
//   Throws       ContractError when shapes, heads or positions do not fit, before anything is sent;
//                CommError when a peer is lost, or sends a block of another size
//   Source       [LZA23] §3
ops::Attention ring_attention(comm::Peers& peers, const Tensor& queries, Tensor keys_values,
                              std::int64_t heads, std::span<const Positions> of_ranks);

// Throws what ring_attention throws before anything is sent.
void check_ring(const comm::Peers& peers, const Tensor& queries, const Tensor& keys_values,
                std::int64_t heads, std::span<const Positions> of_ranks);

}  // namespace lockstep::sequence_parallel
