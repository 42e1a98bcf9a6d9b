// A blocked matrix product. Both operands are copied into panels that the inner loop reads from
// front to back; the inner loop keeps a tile of c in registers while it walks k once.
//
//   tile     4 rows × 2 vectors of c
//   panel    k × tile width, padded with zeros; padded results are computed and not stored
//
// Left out: splitting k (a panel then streams from the second-level cache, which is fast enough,
// and the order of summation stays the plain one), and fused multiply-add (it would make the bits
// depend on the processor). The same template is compiled for the baseline and, on x86-64, for
// AVX2, which AVX-512 uses too. The tile's loops have constant bounds and are left to the compiler,
// which keeps `sum` in vector registers once they are unrolled.
#include "engine/tensor/cpu/products.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

namespace lockstep::kernels {
namespace {

constexpr std::int64_t tile_rows = 4;
constexpr std::int64_t tile_vectors = 2;
constexpr std::int64_t chunk_rows = 64;  // rows of a that are packed at a time

// op(x) as stored: element (i, j) of op(x) is data[i * row + j * column].
template <typename T>
struct Operand {
  const T* data;
  std::int64_t row, column;
};

template <typename T>
Operand<T> operand(const T* data, ops::Transpose transpose, std::int64_t row) {
  if (transpose == ops::Transpose::yes) return {data, 1, row};
  return {data, row, 1};
}

// Copies `lines` lines of `depth` elements into a panel [depth][width], zeros beyond the lines.
template <typename T>
void pack(const T* from, std::int64_t line_stride, std::int64_t depth_stride, std::int64_t lines,
          std::int64_t depth, std::int64_t width, T* panel) {
  if (line_stride == 1) {
    for (std::int64_t k = 0; k < depth; ++k) {
      std::copy_n(from + k * depth_stride, lines, panel + k * width);
      std::fill(panel + k * width + lines, panel + (k + 1) * width, T(0));
    }
    return;
  }
  for (std::int64_t i = 0; i < width; ++i) {
    for (std::int64_t k = 0; k < depth; ++k) {
      panel[k * width + i] = i < lines ? from[i * line_stride + k * depth_stride] : T(0);
    }
  }
}

template <typename T>
[[gnu::always_inline]] inline void put(const T* from, std::int64_t count, Into into, T* to) {
  if (into == Into::replace) {
    std::copy_n(from, count, to);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
  }
}

template <typename T, int vector_bytes>
struct Tile {
  static constexpr std::int64_t width = tile_vectors * vector_bytes / sizeof(T);

  // out [tile_rows][width] = panel_a [depth][tile_rows]ᵀ · panel_b [depth][width]
  [[gnu::always_inline]] static inline void multiply(std::int64_t depth,
                                                     const T* __restrict panel_a,
                                                     const T* __restrict panel_b,
                                                     T* __restrict out) {
    T sum[tile_rows][width] = {};
    for (std::int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < tile_rows; ++i) {
#pragma GCC unroll 32
        for (std::int64_t j = 0; j < width; ++j) {
          sum[i][j] += panel_a[k * tile_rows + i] * panel_b[k * width + j];
        }
      }
    }
    std::memcpy(out, &sum, sizeof sum);
  }
};

template <typename T, int vector_bytes>
[[gnu::always_inline]] inline void blocked(const Product& product, const T* a, const T* b, T* c) {
  using Tile = Tile<T, vector_bytes>;
  const auto [m, n, k, transpose_a, transpose_b, row_a, row_b, row_c, into] = product;
  const auto left = operand(a, transpose_a, row_a);
  const auto right = operand(b, transpose_b, row_b);
  const std::int64_t panels_b = (n + Tile::width - 1) / Tile::width;
  const auto packed_b = std::make_unique_for_overwrite<T[]>(panels_b * Tile::width * k);
  for (std::int64_t p = 0; p < panels_b; ++p) {
    pack(right.data + p * Tile::width * right.column, right.column, right.row,
         std::min(Tile::width, n - p * Tile::width), k, Tile::width,
         packed_b.get() + p * Tile::width * k);
  }
  const auto packed_a = std::make_unique_for_overwrite<T[]>(chunk_rows * k);
  for (std::int64_t chunk = 0; chunk < m; chunk += chunk_rows) {
    const std::int64_t rows = std::min(chunk_rows, m - chunk);
    for (std::int64_t i = 0; i < rows; i += tile_rows) {
      pack(left.data + (chunk + i) * left.row, left.row, left.column, std::min(tile_rows, rows - i),
           k, tile_rows, packed_a.get() + i * k);
    }
    for (std::int64_t p = 0; p < panels_b; ++p) {
      const std::int64_t columns = std::min(Tile::width, n - p * Tile::width);
      for (std::int64_t i = 0; i < rows; i += tile_rows) {
        T tile[tile_rows * Tile::width];
        Tile::multiply(k, packed_a.get() + i * k, packed_b.get() + p * Tile::width * k, tile);
        for (std::int64_t r = 0; r < std::min(tile_rows, rows - i); ++r) {
          put(tile + r * Tile::width, columns, into, c + (chunk + i + r) * row_c + p * Tile::width);
        }
      }
    }
  }
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2")]] void blocked_avx2(const Product& product, const T* a, const T* b, T* c) {
  blocked<T, 32>(product, a, b, c);
}
#endif

template <typename T>
void blocked_baseline(const Product& product, const T* a, const T* b, T* c) {
  blocked<T, 16>(product, a, b, c);
}

}  // namespace

Products portable_products(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx2) return {"portable", isa, &blocked_avx2<float>, &blocked_avx2<double>};
#endif
  return {"portable", isa, &blocked_baseline<float>, &blocked_baseline<double>};
}

}  // namespace lockstep::kernels
