// The parameters of a transformer, cut among the ranks of a tensor-parallel group. From this plan
// follow a rank's first weights, its pieces of a checkpoint, and what it counts in a norm.
//   t ranks of the group; L the layer
//
//   L.attn.c_attn   rows of queries, of keys and of values: by heads   [3·C, C] → [3·C/t, C]
//   L.mlp.c_fc      rows                                               [4·C, C] → [4·C/t, C]
//   L.*.c_proj      columns; the bias is whole                         [C, K]   → [C, K/t]
//   wte, lm_head    rows of the vocabulary, padded                     [V, C]   → [⌈V/t⌉, C]
//   all others      whole on each rank
//
// Weights are [outputs, inputs], so a column-parallel layer has rows of them.
// Source: [SPP19] §3
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/tensor/box.hpp"

namespace lockstep::tensor_parallel {

enum class Cut : std::uint8_t { whole, rows, qkv_rows, columns, vocabulary };
Cut cut_of(std::string_view parameter);

// The elements of a tensor that a rank holds, without padding.
//   whole   the tensor's shape
//   Throws  ContractError when it does not divide
Boxes boxes_of(Cut cut, const Shape& whole, int ranks, int rank);
// The shape of what the rank holds, with padding.
Shape held_shape(Cut cut, const Shape& whole, int ranks);

}  // namespace lockstep::tensor_parallel
