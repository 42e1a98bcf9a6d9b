// For each sequence and head, queries in blocks of 64 rows, and for each of those the keys that it
// may see, in blocks of 256. A head's rows lie a packed projection's width apart, or another
// tensor's: the matrix product reads them where they are.
//
// Invariants of the forward pass, for a row of the query block after any number of key blocks:
//   1. `most` is its largest score so far, `sums` Σ exp(score - most)
//   2. the output row is Σ exp(score - most)·v, not yet divided by `sums`
//
// A block's product takes all keys that its last row sees, and multiplies those that another row
// does not see by 0. That hides every number but NaN and infinity. Where these are found, the block
// is computed row by row, so that each row's products end at the last key that it sees.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

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
  std::int64_t batch, queries, keys, heads, head_size, width;  // B, Tq, Tk, H, D, C
  Positions of_queries, of_keys;

  // A query sees the first so many keys.
  std::int64_t seen_by(std::int64_t query) const {
    return of_keys.before(of_queries.of(query) + 1);
  }
};

HeadSizes sizes_of(const ops::AttentionOptions& options, const Tensor& output) {
  const std::int64_t width = output.size(2);
  return {output.size(0),        output.size(1), options.keys.count(), options.heads,
          width / options.heads, width,          options.queries,      options.keys};
}

// The rows of a head of one sequence; the values stand C behind the keys.
template <typename T>
struct HeadRows {
  T *q, *k, *v;
  std::int64_t q_step, k_step;
};
template <typename T>
HeadRows<T> rows_of(const HeadSizes& s, const Tensor& queries, const Tensor& keys_values,
                    std::int64_t sequence, std::int64_t head) {
  const auto at = [&](const Tensor& x, std::int64_t tokens) {
    return x.data<std::remove_const_t<T>>().data() + sequence * tokens * x.size(2) +
           head * s.head_size;
  };
  T* const q = at(queries, s.queries);
  const bool packed = !keys_values.defined();
  T* const k = packed ? q + s.width : at(keys_values, s.keys);
  const std::int64_t q_step = queries.size(2);
  return {q, k, k + s.width, q_step, packed ? q_step : keys_values.size(2)};
}

// One block of scores: queries [first_q, first_q + rows), keys [first_k, first_k + columns).
struct ScoreBlock {
  std::int64_t first_q, rows, first_k, columns;
};

// Calls each(block) for the key blocks that a query block may see.
template <typename Each>
void for_key_blocks(const HeadSizes& s, std::int64_t first_q, std::int64_t rows, const Each& each) {
  const std::int64_t end = s.seen_by(first_q + rows - 1);
  for (std::int64_t first = 0; first < end; first += key_block) {
    each(ScoreBlock{first_q, rows, first, std::min(key_block, end - first)});
  }
}

// Keys of the block that row i sees.
std::int64_t seen(const HeadSizes& s, const ScoreBlock& block, std::int64_t i) {
  return std::clamp<std::int64_t>(s.seen_by(block.first_q + i) - block.first_k, 0, block.columns);
}

// scores [rows][columns] = q·kᵀ, unscaled.
template <typename T>
void score(const Products& products, const HeadSizes& s, const ScoreBlock& b,
           const HeadRows<const T>& h, T* scores) {
  products({b.rows, b.columns, s.head_size, Transpose::no, Transpose::yes, h.q_step, h.k_step,
            b.columns},
           h.q + b.first_q * h.q_step, h.k + b.first_k * h.k_step, scores);
}

template <typename T>
void fill_rows(T* first, std::int64_t step, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i, first += step) std::fill_n(first, columns, T(0));
}

// Turns a block's scores into exp(scale·score - most), zero where a row must not look, and brings
// the rows' statistics and outputs to the new maximum.
template <typename T>
void absorb(Isa isa, const HeadSizes& s, const ScoreBlock& b, T scale, T* scores, T* most, T* sums,
            T* out) {
  vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
    for (std::int64_t i = 0; i < b.rows; ++i) {
      T* row = scores + i * b.columns;
      const std::int64_t count = seen(s, b, i);
      const std::int64_t end = vectors::whole<T>(count, b.columns);
      if (count == 0) {  // nor does it see a key of the blocks that follow
        vectors::fill(registers, b.columns, T(0), row);
        continue;
      }
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

// Rows [first, first + rows) of one head of one sequence; out rows are C apart.
template <typename T>
void attend_block(const Products& products, const HeadSizes& s, const HeadRows<const T>& h,
                  std::int64_t first, std::int64_t rows, T* out, T* log_sums, T* scores) {
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(s.head_size)));
  T most[query_block], sums[query_block];
  std::fill_n(most, rows, -std::numeric_limits<T>::infinity());
  std::fill_n(sums, rows, T(0));
  for_key_blocks(s, first, rows, [&](const ScoreBlock& b) {
    score(products, s, b, h, scores);
    absorb(products.isa, s, b, scale, scores, most, sums, out);
    products({b.rows, s.head_size, b.columns, Transpose::no, Transpose::no, b.columns, h.k_step,
              s.width, b.first_k == 0 ? Into::replace : Into::add},
             scores, h.v + b.first_k * h.k_step, out + first * s.width);
  });
  vectors::vectorised(products.isa, [&](auto registers) LOCKSTEP_INLINED {
    for (std::int64_t i = 0; i < rows; ++i) {
      T* to = out + (first + i) * s.width;
      log_sums[first + i] = most[i] + std::log(sums[i]);  // -∞ of no key
      if (sums[i] == 0) {
        vectors::fill(registers, s.head_size, T(0), to);
        continue;
      }
      vectors::map(
          registers, s.head_size, to,
          [by = 1 / sums[i]](auto x) LOCKSTEP_INLINED { return x * by; }, to);
    }
  });
}

template <typename T>
void attend(const Products& products, const HeadSizes& s, const HeadRows<const T>& h, T* out,
            T* log_sums, T* scores) {
  for (std::int64_t first = 0; first < s.queries; first += query_block) {
    const std::int64_t rows = std::min(query_block, s.queries - first);
    attend_block(products, s, h, first, rows, out, log_sums, scores);
    // A value that is not finite has reached every row of the block, and so the first.
    const T* row = out + first * s.width;
    if (std::all_of(row, row + s.head_size, [](T x) { return std::isfinite(x); })) continue;
    for (std::int64_t i = 0; i < rows; ++i) {
      attend_block(products, s, h, first + i, 1, out, log_sums, scores);
    }
  }
}

// The scores' gradient: with p = exp(scale·score - log_sum) and dp = grad·vᵀ,
//   p  goes to `scores`, and  p·(dp - Σ grad·out)·scale  to `slopes`.
template <typename T>
void slope(Isa isa, const HeadSizes& s, const ScoreBlock& b, T scale, const T* log_sums,
           const T* dots, T* scores, T* slopes) {
  vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
    for (std::int64_t i = 0; i < b.rows; ++i) {
      T *p = scores + i * b.columns, *d = slopes + i * b.columns;
      const std::int64_t count = seen(s, b, i);
      const T log_sum = log_sums[b.first_q + i], dot = dots[b.first_q + i];
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

template <typename T>
struct Backward {
  HeadRows<const T> in;
  const T *out, *grad, *log_sums;
  HeadRows<T> slopes_of;
};

// dots [Tq]: Σ grad·out of each query.
template <typename T>
void dot_outputs(Isa isa, const HeadSizes& s, const Backward<T>& h, T* dots) {
  vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
    for (std::int64_t i = 0; i < s.queries; ++i) {
      dots[i] = vectors::sum(
          registers, s.head_size, [](auto a, auto b) LOCKSTEP_INLINED { return a * b; },
          h.grad + i * s.width, h.out + i * s.width);
    }
  });
}

// Rows that are computed at once. A value that is not finite, of a key or of a gradient, has made
// the log-sum or the dot of a query that it belongs to, or that sees it, another such.
template <typename T>
std::int64_t rows_at_once(const HeadSizes& s, const T* log_sums, const T* dots) {
  for (std::int64_t i = 0; i < s.queries; ++i) {
    if (!std::isfinite(dots[i]) || !(log_sums[i] < std::numeric_limits<T>::infinity())) return 1;
  }
  return query_block;
}

template <typename T>
void attend_backward(const Products& products, const HeadSizes& s, const Backward<T>& h, T* scores,
                     T* slopes, T* dots) {
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(s.head_size)));
  const HeadRows<const T>& in = h.in;
  const HeadRows<T>& to = h.slopes_of;
  const std::int64_t D = s.head_size;
  dot_outputs(products.isa, s, h, dots);
  const std::int64_t at_once = rows_at_once(s, h.log_sums, dots);
  // Query blocks that see the same keys add to their gradients, which are zero before the first; a
  // single one writes those that it sees.
  const Into keys = s.queries <= at_once ? Into::replace : Into::add;
  const bool writes = keys == Into::replace && s.queries > 0;
  const std::int64_t written = writes ? s.seen_by(s.queries - 1) : 0;
  for (T* rows : {to.k, to.v}) {
    fill_rows(rows + written * to.k_step, to.k_step, s.keys - written, D);
  }
  for (std::int64_t first = 0; first < s.queries; first += at_once) {
    const std::int64_t rows = std::min(at_once, s.queries - first);
    const T* grad = h.grad + first * s.width;
    T* const dq = to.q + first * to.q_step;
    if (s.seen_by(first + rows - 1) == 0) fill_rows(dq, to.q_step, rows, D);
    for_key_blocks(s, first, rows, [&](const ScoreBlock& b) {
      using enum Transpose;
      score(products, s, b, in, scores);
      products({b.rows, b.columns, D, no, yes, s.width, in.k_step, b.columns}, grad,
               in.v + b.first_k * in.k_step, slopes);
      slope(products.isa, s, b, scale, h.log_sums, dots, scores, slopes);
      products({b.columns, D, b.rows, yes, no, b.columns, s.width, to.k_step, keys}, scores, grad,
               to.v + b.first_k * to.k_step);
      const Into queries = b.first_k == 0 ? Into::replace : Into::add;
      products({b.rows, D, b.columns, no, no, b.columns, in.k_step, to.q_step, queries}, slopes,
               in.k + b.first_k * in.k_step, dq);
      products({b.columns, D, b.rows, yes, no, b.columns, in.q_step, to.k_step, keys}, slopes,
               in.q + first * in.q_step, to.k + b.first_k * to.k_step);
    });
  }
}

// Memory for `blocks` blocks of scores, and behind them for a number of each query. A block begins
// where a cache line does, so that a vector of a row lies in one line.
template <typename T>
class Scratch {
 public:
  Scratch(const HeadSizes& s, int blocks)
      : block_(query_block * std::min(key_block, s.keys)),
        lines_(std::make_unique_for_overwrite<Line[]>(
            static_cast<std::size_t>(blocks * block_ + s.queries) * sizeof(T) / sizeof(Line) + 1)) {
  }
  T* block(int number) const { return reinterpret_cast<T*>(lines_.get()) + number * block_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::int64_t block_;
  std::unique_ptr<Line[]> lines_;
};

// each(sequence, head, the first element of the head's output or gradient, its first log-sum)
template <typename Each>
void for_heads(const HeadSizes& s, const Each& each) {
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      each(b, h, b * s.queries * s.width + h * s.head_size, (b * s.heads + h) * s.queries);
    }
  }
}

}  // namespace

void attention(const Products& products, const Tensor& queries, const Tensor& keys_values,
               const ops::AttentionOptions& options, const Tensor& output, const Tensor& log_sums) {
  const HeadSizes s = sizes_of(options, output);
  visit_real(queries, [&]<typename T>() {
    const Scratch<T> scores(s, 1);
    for_heads(s, [&](auto sequence, auto head, auto at, auto at_sums) {
      attend(products, s, rows_of<const T>(s, queries, keys_values, sequence, head),
             output.data<T>().data() + at, log_sums.data<T>().data() + at_sums, scores.block(0));
    });
  });
}

void attention_backward(const Products& products, const Tensor& grad, const Tensor& queries,
                        const Tensor& keys_values, const Tensor& output, const Tensor& log_sums,
                        const ops::AttentionOptions& options, const Tensor& of_queries,
                        const Tensor& of_keys_values) {
  const HeadSizes s = sizes_of(options, output);
  visit_real(queries, [&]<typename T>() {
    const Scratch<T> blocks(s, 2);
    for_heads(s, [&](auto sequence, auto head, auto at, auto at_sums) {
      const Backward<T> of{rows_of<const T>(s, queries, keys_values, sequence, head),
                           output.data<T>().data() + at, grad.data<T>().data() + at,
                           log_sums.data<T>().data() + at_sums,
                           rows_of<T>(s, of_queries, of_keys_values, sequence, head)};
      attend_backward(products, s, of, blocks.block(0), blocks.block(1), blocks.block(2));
    });
  });
}

}  // namespace lockstep::kernels
