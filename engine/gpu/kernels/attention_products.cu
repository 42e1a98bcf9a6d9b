// Causal attention by cuBLAS: scores, a softmax of each row, and their product with the values, for
// all heads of a sequence at once. Queries go in blocks, so that H·256·T numbers lie in memory and
// not H·T², and a block's products stop at the last key that it may see. The gradient's formulas
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
  std::int64_t query, of_sums;  // the latter among the sequence's log sums [H, T]
  std::int64_t seen;            // keys of the block that the query sees
};
__device__ ScoreRow score_row(const Heads& s, const ScoreBlock& b, std::int64_t r) {
  const std::int64_t head = r / b.queries, query = b.first_query + r - head * b.queries;
  const std::int64_t seen = query + 1 - b.first_key;
  return {query, head * s.tokens + query, seen < b.keys ? seen : b.keys};
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

template <typename T>
void attend(const Products<T>& with, const T* qkv, T* output, Wide<T>* log_sums) {
  const Heads& s = with.s;
  const std::int64_t width = s.width, step = 3 * width;
  const Scores<T> scores(with.call, s.heads * std::min(rows_of_block, s.tokens) * s.tokens);
  for (std::int64_t first = 0; first < s.tokens; first += rows_of_block) {
    const std::int64_t queries = std::min(rows_of_block, s.tokens - first);
    const ScoreBlock b{first, queries, 0, first + queries};
    with.score(b, with.heads(qkv + first * step, step), with.heads(qkv + width, step),
               scores.wide());
    causal_softmax_rows<T><<<with.blocks(b), warps_of_block * 32, 0, with.call.stream>>>(
        scores.wide(), s, b, with.scale(), scores.narrow(), log_sums);
    check_launch("causal_attention");
    with.weigh(b, scores.narrow(), with.heads(qkv + 2 * width, step),
               with.heads(output + first * width, width));
  }
}

// The work on one sequence.
template <typename T>
struct Given {
  const T *qkv, *grad;
  const Wide<T>*log_sums, *dots;
  T* out;
};

template <typename T>
void attend_backward(const Products<T>& with, const Given<T>& of) {
  const Heads& s = with.s;
  const std::int64_t width = s.width, step = 3 * width;
  const std::int64_t largest = s.heads * std::min(rows_of_block, s.tokens) * s.tokens;
  const Scores<T> p(with.call, largest), ds(with.call, largest);
  const auto make_slopes = [&](const ScoreBlock& b) {
    const T* const keys = of.qkv + b.first_key * step + width;
    with.score(b, with.heads(of.qkv + b.first_query * step, step), with.heads(keys, step),
               p.wide());
    with.score(b, with.heads(of.grad + b.first_query * width, width),
               with.heads(keys + width, step), ds.wide());
    const Slopes<T> slopes{p.wide(),   ds.wide(),   of.log_sums, of.dots,
                           p.narrow(), ds.narrow(), with.scale()};
    causal_slope_rows<T>
        <<<with.blocks(b), warps_of_block * 32, 0, with.call.stream>>>(slopes, s, b);
    check_launch("causal_attention_backward");
  };
  for (std::int64_t first = 0; first < s.tokens; first += rows_of_block) {
    const std::int64_t rows = std::min(rows_of_block, s.tokens - first);
    const ScoreBlock of_queries{first, rows, 0, first + rows};
    make_slopes(of_queries);
    with.weigh(of_queries, ds.narrow(), with.heads(of.qkv + width, step),
               with.heads(of.out + first * step, step));
    const ScoreBlock of_keys{first, s.tokens - first, first, rows};
    make_slopes(of_keys);
    T* const dk = of.out + first * step + width;
    with.gather(of_keys, ds.narrow(), with.heads(of.qkv + first * step, step),
                with.heads(dk, step));
    with.gather(of_keys, p.narrow(), with.heads(of.grad + first * width, width),
                with.heads(dk + width, step));
  }
}

}  // namespace

void attention_by_products(const Call& call, cublasHandle_t blas, const Tensor& qkv,
                           std::int64_t heads, const Tensor& output, const Tensor& log_sums) {
  const Heads s = heads_of(qkv, heads);
  visit_float(qkv, [&]<typename T>() {
    const Products<T> with{call, blas, s};
    for (std::int64_t i = 0; i < s.batch; ++i) {
      attend<T>(with, elements<const T>(qkv) + i * s.tokens * 3 * s.width,
                elements<T>(output) + i * s.tokens * s.width,
                elements<Wide<T>>(log_sums) + i * s.heads * s.tokens);
    }
  });
}

void attention_by_products_backward(const Call& call, cublasHandle_t blas, const Tensor& grad,
                                    const Tensor& qkv, const Tensor& log_sums,
                                    const std::byte* dots, std::int64_t heads, const Tensor& out) {
  const Heads s = heads_of(qkv, heads);
  visit_float(qkv, [&]<typename T>() {
    const Products<T> with{call, blas, s};
    for (std::int64_t i = 0; i < s.batch; ++i) {
      const std::int64_t row = i * s.tokens, sums = row * s.heads;
      attend_backward<T>(
          with,
          {elements<const T>(qkv) + row * 3 * s.width, elements<const T>(grad) + row * s.width,
           elements<const Wide<T>>(log_sums) + sums, reinterpret_cast<const Wide<T>*>(dots) + sums,
           elements<T>(out) + row * 3 * s.width});
    }
  });
}

}  // namespace lockstep::gpu::kernels
