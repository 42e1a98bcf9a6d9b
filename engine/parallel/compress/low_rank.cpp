#include "engine/parallel/compress/low_rank.hpp"

#include <cmath>
#include <utility>

#include "engine/base/random.hpp"

namespace lockstep::compress {
namespace {

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

void prepare_qs(const Layout& layout, const Tensor& qs, std::uint64_t seed) {
  for (std::size_t i = 0; i < layout.matrices.size(); ++i) {
    const Tensor q = layout.matrices[i].q_of(qs);
    if (q.device().has_numbers()) fill_zero_columns(q, random_bits(seed, i));
    orthonormalize(q);
  }
}

}  // namespace lockstep::compress
