// Sizes of attention, and which of its two ways a head takes.
//   tiles     attention.cu, attention_backward.cu: no T×T matrix; a tile of a head's rows lies in
//             shared memory, which has room for heads of at most 128 numbers
//   products  attention_products.cu: cuBLAS's, and H·256·T numbers of memory for the time of a call
// The rule: products where the tiles have no room, and from Tk·C = 2¹⁹ on; tiles everywhere else.
// On an H100, the two take about as long there. A tile's time grows with Tk·C, and tensor cores
// multiply faster; but of short rows, products are so many launches that the host is waited for
// (docs/measured.md). The rule does not ask for free memory.
// B batch, Tq queries, Tk keys and values, H heads, D size of a head, C = H·D.
#pragma once

#include "engine/gpu/kernels/launch.cuh"

namespace lockstep::gpu {

constexpr std::int64_t tile_head_max = 128;      // of a head in tiles
constexpr std::int64_t rows_of_block = 256;      // queries or keys of a block, by products
constexpr std::int64_t products_from = 1 << 19;  // Tk·C

struct Heads {
  std::int64_t batch, queries, keys, heads, head_size, width;  // B, Tq, Tk, H, D, C
  std::int64_t query_step, key_step;                           // from one token's to the next's
  Positions of_queries, of_keys;

  // A query sees the first so many keys, and a key is missed by the first so many queries.
  constexpr std::int64_t seen_by(std::int64_t query) const {
    return of_keys.before(of_queries.of(query) + 1);
  }
  constexpr std::int64_t missing(std::int64_t key) const {
    return of_queries.before(of_keys.of(key));
  }
};

// An undefined keys_values says that keys and values stand behind the queries.
inline Heads heads_of(const ops::AttentionOptions& options, const Tensor& queries,
                      const Tensor& keys_values, const Tensor& output) {
  const std::int64_t width = output.size(2), query_step = queries.size(2);
  return {output.size(0),
          output.size(1),
          options.keys.count(),
          options.heads,
          width / options.heads,
          width,
          query_step,
          keys_values.defined() ? keys_values.size(2) : query_step,
          options.queries,
          options.keys};
}

// The first query and the first key of a tensor or two; values stand C behind keys.
template <typename T>
struct AttentionRows {
  T *queries, *keys;

  AttentionRows of_sequence(const Heads& s, std::int64_t i) const {
    return {queries + i * s.queries * s.query_step, keys + i * s.keys * s.key_step};
  }
};
template <typename T>
AttentionRows<T> rows_of_attention(const Heads& s, const Tensor& queries,
                                   const Tensor& keys_values) {
  T* const first = elements<T>(queries);
  return {first, keys_values.defined() ? elements<T>(keys_values) : first + s.width};
}

inline bool takes_products(const Heads& s) {
  return s.head_size > tile_head_max || s.keys * s.width >= products_from;
}

}  // namespace lockstep::gpu
