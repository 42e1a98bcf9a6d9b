// Causal attention with several heads, in blocks: no T×T matrix is kept, nor made whole.
// B batch, T sequence, H heads, D size of a head, C = H·D.
#pragma once

#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

// softmax(q·kᵀ/√D + mask)·v for each head; token t sees tokens 0 … t.
//   qkv [B, T, 3·C]: a token's queries, then keys, then values, each of them head by head
//   Memory  output and one number a (token, head); scratch for a block of scores
//   FLOPs   2·B·T²·C forward and five products of half that backward: blocks above the diagonal
//           are skipped
//   Source  [DFE22] §3.1 (online softmax over blocks, log-sum kept, scores made again backward)
struct Attention {
  Tensor output;    // [B, T, C]
  Tensor log_sums;  // [B, H, T]: log Σ exp of a query's scores; float32 of halves
};
Attention causal_attention(const Tensor& qkv, std::int64_t heads);

// d/d(qkv) [B, T, 3·C]
Tensor causal_attention_backward(const Tensor& grad, const Tensor& qkv, const Attention& forward,
                                 std::int64_t heads);

}  // namespace lockstep::ops
