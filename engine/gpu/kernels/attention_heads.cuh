// Sizes of causal attention, and which of its two ways a head takes.
//   tiles     attention.cu, attention_backward.cu: no T×T matrix; a tile of a head's rows lies in
//             shared memory, which has room for heads of at most 128 numbers
//   products  attention_products.cu: cuBLAS's, and H·256·T numbers of memory for the time of a call
// The rule: products where the tiles have no room, and from T·C = 2¹⁹ on; tiles everywhere else. On
// an H100, the two take about as long there. A tile's time grows with T·C, and tensor cores
// multiply faster; but of short rows, products are so many launches that the host is waited for
// (docs/measured.md). The rule does not ask for free memory.
// B batch, T sequence, H heads, D size of a head, C = H·D.
#pragma once

#include "engine/gpu/kernels/launch.cuh"

namespace lockstep::gpu {

constexpr std::int64_t tile_head_max = 128;      // of a head in tiles
constexpr std::int64_t rows_of_block = 256;      // queries or keys of a block, by products
constexpr std::int64_t products_from = 1 << 19;  // T·C

struct Heads {
  std::int64_t batch, tokens, heads, head_size, width;  // B, T, H, D, C
};

inline Heads heads_of(const Tensor& qkv, std::int64_t heads) {
  const std::int64_t width = qkv.size(2) / 3;
  return {qkv.size(0), qkv.size(1), heads, width / heads, width};
}

inline bool takes_products(const Heads& s) {
  return s.head_size > tile_head_max || s.tokens * s.width >= products_from;
}

}  // namespace lockstep::gpu
