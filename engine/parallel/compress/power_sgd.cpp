#include "engine/parallel/compress/power_sgd.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/parallel/compress/mean.hpp"
#include "engine/parallel/compress/residuals.hpp"
#include "engine/parallel/compress/then.hpp"
#include "engine/tensor/broadcast.hpp"
#include "engine/tensor/matmul.hpp"

namespace lockstep::compress {
namespace {

using ops::Transpose;

// A compressed gradient: where it lies in the bucket, and where its P and Q lie among the others'.
struct Matrix {
  std::int64_t at, rows, columns, rank, p_at, q_at;
  Tensor of(const Tensor& flat) const {
    return flat.narrow(at, rows * columns).view({rows, columns});
  }
  Tensor p_of(const Tensor& first) const {
    return first.narrow(p_at, rows * rank).view({rows, rank});
  }
  Tensor q_of(const Tensor& qs) const {
    return qs.narrow(q_at, columns * rank).view({columns, rank});
  }
};

// An uncompressed gradient: where it lies in the bucket and in the first all-reduce.
struct Plain {
  std::int64_t at, count, first_at;
};

// What travels how. The first all-reduce has the plain gradients and then all P.
struct Layout {
  std::vector<Matrix> matrices;
  std::vector<Plain> plain;
  std::int64_t plain_count = 0, first_count = 0, q_count = 0;
};

Layout layout_of(const collectives::GradientBucket& bucket, const PowerSgdOptions& options) {
  Layout layout;
  std::int64_t at = 0;
  for (const Tensor& gradient : bucket.gradients) {
    const std::int64_t count = gradient.numel();
    const std::int64_t rows = gradient.shape().empty() ? 1 : gradient.size(0);
    const std::int64_t columns = rows == 0 ? 0 : count / rows;
    const std::int64_t rank = std::min({rows, columns, options.rank});
    if (is_worth_compressing(rows, columns, rank, options.compression_min)) {
      layout.matrices.push_back({at, rows, columns, rank, layout.first_count, layout.q_count});
      layout.first_count += rows * rank;
      layout.q_count += columns * rank;
    } else if (count > 0) {
      layout.plain.push_back({at, count, layout.plain_count});
      layout.plain_count += count;
    }
    at += count;
  }
  layout.first_count += layout.plain_count;
  for (Matrix& matrix : layout.matrices) matrix.p_at += layout.plain_count;
  return layout;
}

double squares_of(const std::vector<double>& column) {
  double sum = 0;
  for (const double x : column) sum += x * x;
  return sum;
}

// column -= (before · column) · before
void free_of(std::vector<double>& column, const std::vector<double>& before) {
  double product = 0;
  for (std::size_t i = 0; i < column.size(); ++i) product += before[i] * column[i];
  for (std::size_t i = 0; i < column.size(); ++i) column[i] -= product * before[i];
}

// Random numbers for the columns of Q that have none: all of them at first.
void fill_zero_columns(const Tensor& q, std::uint64_t seed) {
  const Tensor here = to_host(q);
  const std::int64_t rows = q.size(0), columns = q.size(1);
  const Tensor filled = here.to(DType::float64);
  const auto values = filled.data<double>();
  for (std::int64_t j = 0; j < columns; ++j) {
    bool zero = true;
    for (std::int64_t i = 0; i < rows; ++i) {
      zero = zero && values[static_cast<std::size_t>(i * columns + j)] == 0;
    }
    for (std::int64_t i = 0; zero && i < rows; ++i) {
      const auto place = static_cast<std::uint64_t>(i * columns + j);
      values[place] = 2 * random_uniform(seed, place) - 1;
    }
  }
  q.copy_(to_device(filled.to(q.dtype()), q.device()));
}

// Q as this pass begins with it.
void prepare_qs(const Layout& layout, const Tensor& qs, std::uint64_t seed) {
  for (std::size_t i = 0; i < layout.matrices.size(); ++i) {
    const Tensor q = layout.matrices[i].q_of(qs);
    if (q.device().has_numbers()) fill_zero_columns(q, random_bits(seed, i));
    orthonormalize(q);
  }
}

// When the mean of P has come: Q, P·Qᵀ and what is left. `state.residual` holds this rank's G.
void finish_low_rank(comm::ProcessGroup& group, const Tensor& flat, const Layout& layout,
                     const Tensor& first, const LowRankState& state) {
  for (const Plain& plain : layout.plain) {
    flat.narrow(plain.at, plain.count).copy_(first.narrow(plain.first_at, plain.count));
    state.residual.narrow(plain.at, plain.count).fill_(0);
  }
  for (const Matrix& matrix : layout.matrices) {
    const Tensor p = matrix.p_of(first);
    orthonormalize(p);
    ops::matmul(matrix.of(state.residual), Transpose::yes, p, Transpose::no, matrix.q_of(state.qs));
  }
  if (layout.q_count > 0) {
    state.qs.scale_(1.0 / group.size());
    group.all_reduce(state.qs, ReduceOp::sum);
  }
  for (const Matrix& matrix : layout.matrices) {
    const Tensor approximation = matrix.of(flat);
    ops::matmul(matrix.p_of(first), Transpose::no, matrix.q_of(state.qs), Transpose::yes,
                approximation);
    const Tensor mine = matrix.of(state.residual);
    mine.copy_(ops::subtract(mine, approximation));
  }
}

class PowerSgd final : public collectives::CommHook {
 public:
  explicit PowerSgd(const PowerSgdOptions& options) : options_(options) {}

  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& bucket) override {
    const std::int64_t pass = residuals_.passes();
    const Tensor residual = residuals_.next(bucket);
    if (!residual.defined()) return mean_reduce(group, bucket.flat);
    if (bucket.index >= states_.size()) states_.resize(bucket.index + 1);
    LowRankState& state = states_[bucket.index];
    state.residual = residual;
    return power_sgd_reduce(group, bucket, state, options_, pass);
  }

 private:
  PowerSgdOptions options_;
  Residuals residuals_;
  std::deque<LowRankState> states_;  // by bucket; a deque, for a Work keeps a reference
};

}  // namespace

bool is_worth_compressing(std::int64_t rows, std::int64_t columns, std::int64_t rank,
                          double compression_min) {
  return static_cast<double>((rows + columns) * rank) * compression_min <
         static_cast<double>(rows * columns);
}

void orthonormalize(const Tensor& matrix) {
  LOCKSTEP_CHECK(matrix.shape().size() == 2, "orthonormalize: shape ", text_of(matrix.shape()),
                 " is no matrix");
  const std::int64_t rows = matrix.size(0), count = matrix.size(1);
  matrix.device().charge(4 * static_cast<double>(rows * count * count),
                         4 * static_cast<double>(matrix.bytes()));
  if (!matrix.device().has_numbers()) return;
  const Tensor wide = to_host(matrix).to(DType::float64);
  const auto values = wide.data<double>();
  std::vector<std::vector<double>> columns;
  for (std::int64_t j = 0; j < count; ++j) {
    std::vector<double> column;
    for (std::int64_t i = 0; i < rows; ++i) {
      column.push_back(values[static_cast<std::size_t>(i * count + j)]);
    }
    for (int time = 0; time < 2; ++time) {
      for (const auto& before : columns) free_of(column, before);
    }
    const double norm = std::sqrt(squares_of(column));
    for (double& x : column) x = norm == 0 ? 0 : x / norm;
    columns.push_back(std::move(column));
  }
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      values[static_cast<std::size_t>(i * count + j)] =
          columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)];
    }
  }
  matrix.copy_(to_device(wide.to(matrix.dtype()), matrix.device()));
}

comm::Work power_sgd_reduce(comm::ProcessGroup& group, const collectives::GradientBucket& bucket,
                            LowRankState& state, const PowerSgdOptions& options,
                            std::int64_t pass) {
  const Tensor& flat = bucket.flat;
  LOCKSTEP_CHECK(options.rank >= 1, "power_sgd_reduce: matrices of rank ", options.rank,
                 "; pass at least 1");
  LOCKSTEP_CHECK(!is_integer(flat.dtype()), "power_sgd_reduce: a bucket of ", name_of(flat.dtype()),
                 " on rank ", group.rank(), "; gradients are floating point");
  const Layout layout = layout_of(bucket, options);
  LOCKSTEP_CHECK(state.residual.numel() == flat.numel(), "power_sgd_reduce: a residual of ",
                 state.residual.numel(), " elements for bucket ", bucket.index, " of ",
                 flat.numel(), " on rank ", group.rank(), "; a state belongs to one bucket");
  if (!state.qs.defined()) state.qs = zeros({layout.q_count}, flat.dtype(), flat.device());
  LOCKSTEP_CHECK(state.qs.numel() == layout.q_count, "power_sgd_reduce: the Q of bucket ",
                 bucket.index, " have ", state.qs.numel(), " elements and need ", layout.q_count,
                 " on rank ", group.rank(), "; a state belongs to one bucket and rank of matrices");
  const std::uint64_t of_pass = random_bits(options.seed, static_cast<std::uint64_t>(pass));
  prepare_qs(layout, state.qs, random_bits(of_pass, bucket.index));

  state.residual.reduce_(flat, ReduceOp::sum);  // from here on this rank's G
  const Tensor first = flat.empty_like(layout.first_count);
  for (const Plain& plain : layout.plain) {
    first.narrow(plain.first_at, plain.count).copy_(state.residual.narrow(plain.at, plain.count));
  }
  for (const Matrix& matrix : layout.matrices) {
    ops::matmul(matrix.of(state.residual), Transpose::no, matrix.q_of(state.qs), Transpose::no,
                matrix.p_of(first));
  }
  first.scale_(1.0 / group.size());
  comm::Work work = group.all_reduce_async(first, ReduceOp::sum);
  return then(group, std::move(work), [&group, &state, flat, layout, first] {
    finish_low_rank(group, flat, layout, first, state);
  });
}

std::unique_ptr<collectives::CommHook> make_power_sgd(const PowerSgdOptions& options) {
  LOCKSTEP_CHECK(options.rank >= 1, "make_power_sgd: matrices of rank ", options.rank,
                 "; pass at least 1");
  return std::make_unique<PowerSgd>(options);
}

}  // namespace lockstep::compress
