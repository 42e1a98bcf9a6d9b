// Attention with its heads spread over a tensor-parallel group. Heads know nothing of each other,
// so a rank computes H/t of them by itself: the projection to queries, keys and values is
// column-parallel, the projection back is row-parallel.
//   t ranks of the group, this one is r; B batch, T tokens, H heads of size D, C = H·D width
//
// The projection to queries, keys and values is one matrix [3·C, C]: C rows of queries, then C of
// keys, then C of values, each head by head. A rank's share of it is not one range of rows.
// Source: [SPP19] §3, figure 3b
#pragma once

#include <array>
#include <cstdint>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::tensor_parallel {

// Rows [first, first + count) of a matrix.
struct RowRange {
  std::int64_t first = 0, count = 0;
  bool operator==(const RowRange&) const = default;
};

// Which rows of the fused projection [3·C, C] a rank holds: its queries, its keys, its values, of
// heads r·H/t … (r+1)·H/t. A part, together with parallel_attention: defined in
// solutions/12_tensor_parallel.
//   width, heads   C and H
//   Returns        three ranges of C/t rows; every row of the matrix is in the ranges of one rank
//   Throws         ContractError when heads do not divide the width, or ranks do not divide the
//                  heads (naming the nearest numbers of heads that they divide), or for a rank that
//                  is not one of `ranks`
std::array<RowRange, 3> qkv_rows(std::int64_t width, std::int64_t heads, int ranks, int rank);

// A rank's share of an attention layer's weights.
struct AttentionShare {
  Value qkv_weight;   // [3·C/t, C], the three ranges of qkv_rows, one after the other
  Value qkv_bias;     // [3·C/t], the same rows
  Value proj_weight;  // [C, C/t], columns r·C/t … (r+1)·C/t: what comes of this rank's heads
  Value proj_bias;    // [C], whole and the same on every rank
};

// Causal attention of all heads, of which this rank computes its own.
//   x         [B, T, C], the same on every rank
//   heads     H, of the whole layer
//   Returns   [B, T, C], the same bits on all ranks
//   Gradient  of x, the whole layer's, the same bits on all ranks; of the shares, this rank's rows
//             or columns of the whole layer's; of proj_bias, the whole
//   Requires  every rank of the group records and walks back the same operations in the same order;
//             the gradient of y is the same on every rank; the group outlives the tape
//   Comm      forward one all-reduce of B·T·C elements, 2(t-1)/t of them sent per rank; backward
//             one of as many, none where nothing wants the gradient of x
//   Memory    activations of this rank's heads only
//   Throws    ContractError when ranks do not divide the heads, or the shapes do not fit, before
//             anything is sent; CommError when a peer is lost
//   Source    [SPP19] §3
Value parallel_attention(Tape& tape, comm::ProcessGroup& group, const Value& x,
                         const AttentionShare& share, std::int64_t heads);

}  // namespace lockstep::tensor_parallel
