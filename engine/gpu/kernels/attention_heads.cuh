// Sizes of causal attention, and which of its two ways a head takes.
//   tiles     attention.cu, attention_backward.cu: no T×T matrix; a tile of a head's rows lies in
//             shared memory, which has room for heads of at most 128 numbers
//   products  attention_products.cu: cuBLAS's, and H·256·T numbers of memory for the time of a call
// The rule: products where the tiles have no room, tiles everywhere else. Memory and T speak for
// tiles at every size: they need none of the H·256·T numbers, which grow with T. Only speed could
// speak for products, and it has not been measured: no GPU has run either yet. So the rule asks for
// neither T nor free memory, and the head's size alone decides.
// B batch, T sequence, H heads, D size of a head, C = H·D.
#pragma once

#include "engine/gpu/kernels/launch.cuh"

namespace lockstep::gpu {

constexpr std::int64_t tile_head_max = 128;  // of a head in tiles
constexpr std::int64_t rows_of_block = 256;  // queries or keys of a block, by products

struct Heads {
  std::int64_t batch, tokens, heads, head_size, width;  // B, T, H, D, C
};

inline Heads heads_of(const Tensor& qkv, std::int64_t heads) {
  const std::int64_t width = qkv.size(2) / 3;
  return {qkv.size(0), qkv.size(1), heads, width / heads, width};
}

inline bool takes_products(const Heads& s) { return s.head_size > tile_head_max; }

}  // namespace lockstep::gpu
