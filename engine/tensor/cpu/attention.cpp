// For each sequence and head, queries in blocks of 64 rows, and for each of those the keys that it
// may see, in blocks of 256. A head's rows lie 3·C apart in the packed projection, which the matrix
// product reads where they are.
//
// Invariants of the forward pass, for a row of the query block after any number of key blocks:
//   1. `most` is its largest score so far, `sums` Σ exp(score - most)
//   2. the output row is Σ exp(score - most)·v, not yet divided by `sums`
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "engine/tensor/cpu/kernel_table.hpp"
#include "engine/tensor/cpu/vector_functions.hpp"
#include "engine/tensor/cpu/vector_sums.hpp"
#include "engine/tensor/cpu/visit_real.hpp"

namespace lockstep::kernels {
namespace {

using ops::Transpose;

constexpr std::int64_t query_block = 64;
constexpr std::int64_t key_block = 256;

struct HeadSizes {
  std::int64_t batch, tokens, heads, head_size, width;  // B, T, H, D, C
};

HeadSizes sizes_of(const Tensor& qkv, std::int64_t heads) {
  const std::int64_t width = qkv.size(2) / 3;
  return {qkv.size(0), qkv.size(1), heads, width / heads, width};
}

// One block of scores: queries [first_q, first_q + rows), keys [first_k, first_k + columns).
struct ScoreBlock {
  std::int64_t first_q, rows, first_k, columns;
};

// Calls each(block) for the key blocks that a query block may see.
template <typename Each>
void for_key_blocks(std::int64_t first_q, std::int64_t rows, const Each& each) {
  const std::int64_t end = first_q + rows;  // the last row sees keys before this
  for (std::int64_t first = 0; first < end; first += key_block) {
    each(ScoreBlock{first_q, rows, first, std::min(key_block, end - first)});
  }
}

// Keys of the block that row i sees.
std::int64_t seen(const ScoreBlock& block, std::int64_t i) {
  return std::clamp<std::int64_t>(block.first_q + i + 1 - block.first_k, 0, block.columns);
}

// scores [rows][columns] = q·kᵀ, unscaled.
template <typename T>
void score(const Products& products, const HeadSizes& s, const ScoreBlock& b, const T* q,
           const T* k, T* scores) {
  const std::int64_t row = 3 * s.width;
  products({b.rows, b.columns, s.head_size, Transpose::no, Transpose::yes, row, row, b.columns},
           q + b.first_q * row, k + b.first_k * row, scores);
}

// Turns a block's scores into exp(scale·score - most), zero where a row must not look, and brings
// the rows' statistics and outputs to the new maximum.
template <typename T>
void absorb(Isa isa, const HeadSizes& s, const ScoreBlock& b, T scale, T* scores, T* most, T* sums,
            T* out) {
  vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
    for (std::int64_t i = 0; i < b.rows; ++i) {
      T* row = scores + i * b.columns;
      const std::int64_t count = seen(b, i);
      const std::int64_t end = vectors::whole<T>(count, b.columns);
      vectors::fill_whole(registers, count, end, -std::numeric_limits<T>::infinity(), row);
      const T before = most[i];
      const T now = std::max(before, scale * vectors::largest(registers, end, row));
      const T added = vectors::map_and_sum(
          registers, end, row,
          [=](auto v) LOCKSTEP_INLINED { return vectors::exp(v * scale - now); }, row);
      vectors::fill_whole(registers, count, end, T(0), row);  // NaN where `now` is
      vectors::fill(registers, b.columns - end, T(0), row + end);
      if (b.first_k == 0) {
        sums[i] = added;
      } else {
        const T shrink = std::exp(before - now);
        sums[i] = sums[i] * shrink + added;
        T* to = out + (b.first_q + i) * s.width;
        vectors::map(
            registers, s.head_size, to, [=](auto v) LOCKSTEP_INLINED { return v * shrink; }, to);
      }
      most[i] = now;
    }
  });
}

// One head of one sequence; out rows are C apart.
template <typename T>
void attend(const Products& products, const HeadSizes& s, const T* q, const T* k, const T* v,
            T* out, T* log_sums, T* scores) {
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(s.head_size)));
  T most[query_block], sums[query_block];
  for (std::int64_t first = 0; first < s.tokens; first += query_block) {
    const std::int64_t rows = std::min(query_block, s.tokens - first);
    std::fill_n(most, rows, -std::numeric_limits<T>::infinity());
    for_key_blocks(first, rows, [&](const ScoreBlock& b) {
      score(products, s, b, q, k, scores);
      absorb(products.isa, s, b, scale, scores, most, sums, out);
      products({b.rows, s.head_size, b.columns, Transpose::no, Transpose::no, b.columns,
                3 * s.width, s.width, b.first_k == 0 ? Into::replace : Into::add},
               scores, v + b.first_k * 3 * s.width, out + first * s.width);
    });
    vectors::vectorised(products.isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::int64_t i = 0; i < rows; ++i) {
        T* to = out + (first + i) * s.width;
        vectors::map(
            registers, s.head_size, to,
            [by = 1 / sums[i]](auto x) LOCKSTEP_INLINED { return x * by; }, to);
        log_sums[first + i] = most[i] + std::log(sums[i]);
      }
    });
  }
}

// The scores' gradient: with p = exp(scale·score - log_sum) and dp = grad·vᵀ,
//   p  goes to `scores`, and  p·(dp - Σ grad·out)·scale  to `slopes`.
template <typename T>
void slope(Isa isa, const ScoreBlock& b, T scale, const T* log_sums, const T* dots, T* scores,
           T* slopes) {
  vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
    for (std::int64_t i = 0; i < b.rows; ++i) {
      T *p = scores + i * b.columns, *d = slopes + i * b.columns;
      const std::int64_t count = seen(b, i);
      const T log_sum = log_sums[b.first_q + i], dot = dots[i];
      const std::int64_t end = vectors::whole<T>(count, b.columns);
      vectors::map_to_two(
          registers, end, p, d,
          [=](auto v, auto dp) LOCKSTEP_INLINED {
            const auto share = vectors::exp(v * scale - log_sum);
            return vectors::Two<decltype(v)>{share, share * ((dp - dot) * scale)};
          },
          p, d);
      for (T* row : {p, d}) {
        vectors::fill_whole(registers, count, end, T(0), row);
        vectors::fill(registers, b.columns - end, T(0), row + end);
      }
    }
  });
}

// Query blocks that see the same keys add to their gradients, which are zero before the first;
// a single one writes them.
Into into_of_keys(const HeadSizes& s) {
  return s.tokens <= query_block ? Into::replace : Into::add;
}

template <typename T>
struct Head {
  const T *q, *k, *v, *out, *grad, *log_sums;
  T *dq, *dk, *dv;
};

template <typename T>
void attend_backward(const Products& products, const HeadSizes& s, const Head<T>& h, T* scores,
                     T* slopes) {
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(s.head_size)));
  const std::int64_t row = 3 * s.width, D = s.head_size;
  const Into keys = into_of_keys(s);
  T dots[query_block];
  for (std::int64_t first = 0; first < s.tokens; first += query_block) {
    const std::int64_t rows = std::min(query_block, s.tokens - first);
    const T* grad = h.grad + first * s.width;
    vectors::vectorised(products.isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::int64_t i = 0; i < rows; ++i) {
        dots[i] = vectors::sum(
            registers, D, [](auto a, auto b) LOCKSTEP_INLINED { return a * b; }, grad + i * s.width,
            h.out + (first + i) * s.width);
      }
    });
    for_key_blocks(first, rows, [&](const ScoreBlock& b) {
      using enum Transpose;
      score(products, s, b, h.q, h.k, scores);
      products({b.rows, b.columns, D, no, yes, s.width, row, b.columns}, grad,
               h.v + b.first_k * row, slopes);
      slope(products.isa, b, scale, h.log_sums, dots, scores, slopes);
      products({b.columns, D, b.rows, yes, no, b.columns, s.width, row, keys}, scores, grad,
               h.dv + b.first_k * row);
      const Into queries = b.first_k == 0 ? Into::replace : Into::add;
      products({b.rows, D, b.columns, no, no, b.columns, row, row, queries}, slopes,
               h.k + b.first_k * row, h.dq + first * row);
      products({b.columns, D, b.rows, yes, no, b.columns, row, row, keys}, slopes,
               h.q + first * row, h.dk + b.first_k * row);
    });
  }
}

// Memory for `blocks` blocks of scores. It begins where a cache line does, so that a vector of a
// row lies in one line.
template <typename T>
class Scratch {
 public:
  Scratch(const HeadSizes& s, int blocks)
      : block_(query_block * std::min(key_block, s.tokens)),
        lines_(std::make_unique_for_overwrite<Line[]>(
            static_cast<std::size_t>(blocks * block_) * sizeof(T) / sizeof(Line) + 1)) {}
  T* block(int number) const { return reinterpret_cast<T*>(lines_.get()) + number * block_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::int64_t block_;
  std::unique_ptr<Line[]> lines_;
};

}  // namespace

void causal_attention(const Products& products, const Tensor& qkv, std::int64_t heads,
                      const Tensor& output, const Tensor& log_sums) {
  const HeadSizes s = sizes_of(qkv, heads);
  visit_real(qkv, [&]<typename T>() {
    const Scratch<T> scores(s, 1);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const T* q = qkv.data<T>().data() + b * s.tokens * 3 * s.width + h * s.head_size;
        attend(products, s, q, q + s.width, q + 2 * s.width,
               output.data<T>().data() + b * s.tokens * s.width + h * s.head_size,
               log_sums.data<T>().data() + (b * heads + h) * s.tokens, scores.block(0));
      }
    }
  });
}

void causal_attention_backward(const Products& products, const Tensor& grad, const Tensor& qkv,
                               const Tensor& output, const Tensor& log_sums, std::int64_t heads,
                               const Tensor& out) {
  const HeadSizes s = sizes_of(qkv, heads);
  visit_real(qkv, [&]<typename T>() {
    if (into_of_keys(s) == Into::add) {
      T* row = out.data<T>().data();
      for (std::int64_t i = 0; i < s.batch * s.tokens; ++i, row += 3 * s.width) {
        std::fill_n(row + s.width, 2 * s.width, T(0));
      }
    }
    const Scratch<T> blocks(s, 2);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t at = b * s.tokens * 3 * s.width + h * s.head_size;
        const std::int64_t at_out = b * s.tokens * s.width + h * s.head_size;
        const T* q = qkv.data<T>().data() + at;
        T* dq = out.data<T>().data() + at;
        const Head<T> head{q,
                           q + s.width,
                           q + 2 * s.width,
                           output.data<T>().data() + at_out,
                           grad.data<T>().data() + at_out,
                           log_sums.data<T>().data() + (b * heads + h) * s.tokens,
                           dq,
                           dq + s.width,
                           dq + 2 * s.width};
        attend_backward(products, s, head, blocks.block(0), blocks.block(1));
      }
    }
  });
}

}  // namespace lockstep::kernels
