#include "grader/parts/10_compression/power_sgd/grid.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::grader::power_sgd {

namespace {

Grid zero_grid(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, Numbers(static_cast<std::size_t>(rows * columns))};
}

}  // namespace

Grid grid_in(const Numbers& flat, std::int64_t at, std::int64_t rows, std::int64_t columns) {
  const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(at);
  return {rows, columns, Numbers(begin, begin + static_cast<std::ptrdiff_t>(rows * columns))};
}

void put(Numbers& flat, std::int64_t at, const Grid& grid) {
  std::ranges::copy(grid.values, flat.begin() + static_cast<std::ptrdiff_t>(at));
}

Grid turned(const Grid& a) {
  Grid t = zero_grid(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) t.at(j, i) = a.at(i, j);
  }
  return t;
}

Grid product(const Grid& a, const Grid& b) {
  Grid c = zero_grid(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      for (std::int64_t j = 0; j < b.columns; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return c;
}

Grid orthonormal(Grid a) {
  for (std::int64_t j = 0; j < a.columns; ++j) {
    for (std::int64_t round = 0; round < 2 * j; ++round) {
      const std::int64_t before = round % j;
      double along = 0;
      for (std::int64_t i = 0; i < a.rows; ++i) along += a.at(i, before) * a.at(i, j);
      for (std::int64_t i = 0; i < a.rows; ++i) a.at(i, j) -= along * a.at(i, before);
    }
    double squares = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) squares += a.at(i, j) * a.at(i, j);
    for (std::int64_t i = 0; i < a.rows && squares != 0; ++i) a.at(i, j) /= std::sqrt(squares);
  }
  return a;
}

}  // namespace lockstep::grader::power_sgd
