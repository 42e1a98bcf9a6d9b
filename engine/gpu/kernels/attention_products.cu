// Attention by cuBLAS: scores, a softmax of each row, and their product with the values, for
// all heads of a sequence at once. Queries go in blocks, so that H·256·Tk numbers lie in memory and
// not H·Tq·Tk, and a block's products stop at the last key that it may see. The gradient's formulas
// are those of attention_backward.cu: probabilities are made again from the scores and their log
// sums, once for blocks of queries (dq) and once for blocks of keys (dk, dv), so that no product
// adds to another's sums.
//
// Probabilities and slopes of halves are halves, as the products want them; scores are float32.
#include <algorithm>
#include <cmath>

#include "engine/gpu/kernels/attention_heads.cuh"
#include "engine/gpu/kernels/table.hpp"
#include "engine/gpu/kernels/teams.cuh"

namespace lockstep::gpu::kernels {
namespace {

using ops::Transpose;
using Row = Team<32>;  // a warp a row: a launch has hundreds of them
constexpr unsigned warps_of_block = 4;

// Scores of the queries from first_query on, and the keys from first_key on, of each head.
struct ScoreBlock {
  std::int64_t first_query, queries, first_key, keys;
};

// A row of scores, of all heads.
struct ScoreRow {
  std::int64_t query, of_sums;  // the latter among the sequence's log sums [H, Tq]
  std::int64_t seen;            // keys of the block that the query sees, or none below 1
};
__device__ ScoreRow score_row(const Heads& s, const ScoreBlock& b, std::int64_t r) {
  const std::int64_t head = r / b.queries, query = b.first_query + r - head * b.queries;
  const std::int64_t seen = s.seen_by(query) - b.first_key;
  return {query, head * s.queries + query, seen < b.keys ? seen : b.keys};
}

// p = softmax(scale·scores) over the keys that a row sees, 0 behind. p may be the scores.
template <typename T>
__global__ void causal_softmax_rows(const Wide<T>* scores, Heads s, ScoreBlock b, Wide<T> scale,
                                    T* p, Wide<T>* log_sums) {
  using V = Wide<T>;
  for (std::int64_t r = Row::first_row(); r < s.heads * b.queries; r += Row::row_step()) {
    const ScoreRow row = score_row(s, b, r);
    const V* x = scores + r * b.keys;
    V largest = -static_cast<V>(INFINITY);
    for (std::int64_t j = Row::lane(); j < row.seen; j += 32) {
      largest = Largest{}(largest, x[j] * scale);
    }
    largest = Row::largest(largest);
    V sum = 0;
    for (std::int64_t j = Row::lane(); j < row.seen; j += 32) {
      sum += exponential(x[j] * scale - largest);
    }
    sum = Row::sum(sum);
    const V factor = 1 / sum;
    for (std::int64_t j = Row::lane(); j < b.keys; j += 32) {
      const V weight = j < row.seen ? exponential(x[j] * scale - largest) * factor : V(0);
      p[r * b.keys + j] = static_cast<T>(weight);
    }
    if (Row::lane() == 0) log_sums[row.of_sums] = largest + log(sum);
  }
}

// p = exp(scale·score - log_sum) and ds = p·(dp - dot)·scale, 0 where a query sees no key. p may be
// the scores, and ds the dp.
template <typename T>
struct Slopes {
  const Wide<T>*scores, *dp, *log_sums, *dots;
  T *p, *ds;
  Wide<T> scale;
};
template <typename T>
__global__ void causal_slope_rows(Slopes<T> of, Heads s, ScoreBlock b) {
  using V = Wide<T>;
  for (std::int64_t r = Row::first_row(); r < s.heads * b.queries; r += Row::row_step()) {
    const ScoreRow row = score_row(s, b, r);
    const V log_sum = of.log_sums[row.of_sums], dot = of.dots[row.of_sums];
    for (std::int64_t j = Row::lane(); j < b.keys; j += 32) {
      const std::int64_t at = r * b.keys + j;
      const bool seen = j < row.seen;
      const V p = seen ? exponential(of.scores[at] * of.scale - log_sum) : V(0);
      const V ds = seen ? p * ((of.dp[at] - dot) * of.scale) : V(0);
      of.p[at] = static_cast<T>(p);
      of.ds[at] = static_cast<T>(ds);
    }
  }
}

// The products of one sequence. Numbers of a head lie in rows of a tensor, next to other heads'.
template <typename T>
struct Products {
  using V = Wide<T>;
  const Call& call;
  cublasHandle_t blas;
  Heads s;

  static constexpr DType narrow = DTypeOf<T>::value;
  V scale() const { return static_cast<V>(1 / std::sqrt(static_cast<double>(s.head_size))); }
  unsigned blocks(const ScoreBlock& b) const {
    return blocks_for(s.heads * b.queries, warps_of_block);
  }

  // [rows, D] of each head, in a tensor whose rows have `width` numbers.
  Matrices heads(const T* first, std::int64_t width) const {
    return {const_cast<T*>(first), narrow, width, s.head_size};
  }
  // [queries, keys] of each head.
  template <typename Number>
  static Matrices scores(const Number* first, const ScoreBlock& b) {
    return {const_cast<Number*>(first), DTypeOf<Number>::value, b.keys, b.queries * b.keys};
  }
  // to = a·bᵀ: [queries, D]·[keys, D]ᵀ
  void score(const ScoreBlock& b, const Matrices& a, const Matrices& other, V* to) const {
    batched_matmul(blas, {s.heads, b.queries, b.keys, s.head_size}, a, Transpose::no, other,
                   Transpose::yes, scores(to, b));
  }
  // to = weights·rows: [queries, keys]·[keys, D]
  void weigh(const ScoreBlock& b, const T* weights, const Matrices& rows,
             const Matrices& to) const {
    batched_matmul(blas, {s.heads, b.queries, s.head_size, b.keys}, scores(weights, b),
                   Transpose::no, rows, Transpose::no, to);
  }
  // to = weightsᵀ·rows: [queries, keys]ᵀ·[queries, D]
  void gather(const ScoreBlock& b, const T* weights, const Matrices& rows,
              const Matrices& to) const {
    batched_matmul(blas, {s.heads, b.keys, s.head_size, b.queries}, scores(weights, b),
                   Transpose::yes, rows, Transpose::no, to);
  }
};

// Numbers of type V that a kernel turns into as many of type T: in the same place, where they are
// of one size.
template <typename T>
class Scores {
 public:
  using V = Wide<T>;
  Scores(const Call& call, std::int64_t count)
      : wide_(call.scratch.take_of<V>(static_cast<std::size_t>(count))),
        narrow_(call.scratch.take_of<T>(is_same ? 0 : static_cast<std::size_t>(count))) {}

  V* wide() const { return wide_.template as<V>(); }
  T* narrow() const { return (is_same ? wide_ : narrow_).template as<T>(); }

 private:
  static constexpr bool is_same = std::is_same_v<T, V>;
  Scratch::Piece wide_, narrow_;
};

// Rows of a tensor of its own: those of a packed projection see themselves, and are seen.
template <typename T>
void fill_zeros(const Products<T>& with, T* first, std::int64_t count) {
  check(cudaMemsetAsync(first, 0, static_cast<std::size_t>(count) * sizeof(T), with.call.stream),
        "cudaMemsetAsync");
}

// The work on one sequence.
template <typename T>
void attend(const Products<T>& with, const AttentionRows<const T>& of, T* output,
            Wide<T>* log_sums) {
  const Heads& s = with.s;
  const std::int64_t width = s.width;
  const Scores<T> scores(with.call, s.heads * std::min(rows_of_block, s.queries) * s.keys);
  for (std::int64_t first = 0; first < s.queries; first += rows_of_block) {
    const std::int64_t queries = std::min(rows_of_block, s.queries - first);
    const ScoreBlock b{first, queries, 0, s.seen_by(first + queries - 1)};
    if (b.keys > 0) {
      with.score(b, with.heads(of.queries + first * s.query_step, s.query_step),
                 with.heads(of.keys, s.key_step), scores.wide());
    }
    causal_softmax_rows<T><<<with.blocks(b), warps_of_block * 32, 0, with.call.stream>>>(
        scores.wide(), s, b, with.scale(), scores.narrow(), log_sums);
    check_launch("attention");
    T* const rows = output + first * width;
    if (b.keys == 0) {
      fill_zeros(with, rows, queries * width);
    } else {
      with.weigh(b, scores.narrow(), with.heads(of.keys + width, s.key_step),
                 with.heads(rows, width));
    }
  }
}

template <typename T>
struct Given {
  AttentionRows<const T> in;
  const T* grad;
  const Wide<T>*log_sums, *dots;
  AttentionRows<T> out;
};

template <typename T>
void attend_backward(const Products<T>& with, const Given<T>& of) {
  const Heads& s = with.s;
  const std::int64_t width = s.width;
  const std::int64_t largest = s.heads * std::max(std::min(rows_of_block, s.queries) * s.keys,
                                                  std::min(rows_of_block, s.keys) * s.queries);
  const Scores<T> p(with.call, largest), ds(with.call, largest);
  const auto make_slopes = [&](const ScoreBlock& b) {
    const T* const keys = of.in.keys + b.first_key * s.key_step;
    with.score(b, with.heads(of.in.queries + b.first_query * s.query_step, s.query_step),
               with.heads(keys, s.key_step), p.wide());
    with.score(b, with.heads(of.grad + b.first_query * width, width),
               with.heads(keys + width, s.key_step), ds.wide());
    const Slopes<T> slopes{p.wide(),   ds.wide(),   of.log_sums, of.dots,
                           p.narrow(), ds.narrow(), with.scale()};
    causal_slope_rows<T>
        <<<with.blocks(b), warps_of_block * 32, 0, with.call.stream>>>(slopes, s, b);
    check_launch("attention_backward");
  };
  for (std::int64_t first = 0; first < s.queries; first += rows_of_block) {
    const std::int64_t rows = std::min(rows_of_block, s.queries - first);
    const ScoreBlock b{first, rows, 0, s.seen_by(first + rows - 1)};
    T* const dq = of.out.queries + first * s.query_step;
    if (b.keys == 0) {
      fill_zeros(with, dq, rows * s.query_step);
      continue;
    }
    make_slopes(b);
    with.weigh(b, ds.narrow(), with.heads(of.in.keys, s.key_step), with.heads(dq, s.query_step));
  }
  for (std::int64_t first = 0; first < s.keys; first += rows_of_block) {
    const std::int64_t rows = std::min(rows_of_block, s.keys - first);
    const std::int64_t first_seeing = s.missing(first);
    const ScoreBlock b{first_seeing, s.queries - first_seeing, first, rows};
    T* const dk = of.out.keys + first * s.key_step;
    if (b.queries == 0) {
      fill_zeros(with, dk, rows * s.key_step);
      continue;
    }
    make_slopes(b);
    with.gather(b, ds.narrow(),
                with.heads(of.in.queries + first_seeing * s.query_step, s.query_step),
                with.heads(dk, s.key_step));
    with.gather(b, p.narrow(), with.heads(of.grad + first_seeing * width, width),
                with.heads(dk + width, s.key_step));
  }
}

}  // namespace

void attention_by_products(const Call& call, cublasHandle_t blas, const Tensor& queries,
                           const Tensor& keys_values, const ops::AttentionOptions& options,
                           const Tensor& output, const Tensor& log_sums) {
  const Heads s = heads_of(options, queries, keys_values, output);
  visit_float(queries, [&]<typename T>() {
    const Products<T> with{call, blas, s};
    const auto of = rows_of_attention<const T>(s, queries, keys_values);
    for (std::int64_t i = 0; i < s.batch; ++i) {
      attend<T>(with, of.of_sequence(s, i), elements<T>(output) + i * s.queries * s.width,
                elements<Wide<T>>(log_sums) + i * s.heads * s.queries);
    }
  });
}

void attention_by_products_backward(const Call& call, cublasHandle_t blas, const Tensor& grad,
                                    const Tensor& queries, const Tensor& keys_values,
                                    const Tensor& log_sums, const std::byte* dots,
                                    const ops::AttentionOptions& options, const Tensor& of_queries,
                                    const Tensor& of_keys_values) {
  const Heads s = heads_of(options, queries, keys_values, grad);
  visit_float(queries, [&]<typename T>() {
    const Products<T> with{call, blas, s};
    const auto in = rows_of_attention<const T>(s, queries, keys_values);
    const auto out = rows_of_attention<T>(s, of_queries, of_keys_values);
    for (std::int64_t i = 0; i < s.batch; ++i) {
      const std::int64_t row = i * s.queries, sums = row * s.heads;
      attend_backward<T>(with,
                         {in.of_sequence(s, i), elements<const T>(grad) + row * s.width,
                          elements<const Wide<T>>(log_sums) + sums,
                          reinterpret_cast<const Wide<T>*>(dots) + sums, out.of_sequence(s, i)});
    }
  });
}

}  // namespace lockstep::gpu::kernels
