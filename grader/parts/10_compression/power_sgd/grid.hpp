// Small matrices of the judge's own PowerSGD.
#pragma once

#include <cstdint>

#include "grader/exam/lossy/rules.hpp"

namespace lockstep::grader::power_sgd {

// Row by row.
struct Grid {
  std::int64_t rows = 0, columns = 0;
  Numbers values{};
  double& at(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  double at(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
};

// The matrix that begins at element `at` of `flat`.
Grid grid_in(const Numbers& flat, std::int64_t at, std::int64_t rows, std::int64_t columns);
void put(Numbers& flat, std::int64_t at, const Grid& grid);
Grid turned(const Grid& a);
Grid product(const Grid& a, const Grid& b);
// Gram and Schmidt's columns, each freed of those before it twice.
Grid orthonormal(Grid a);

}  // namespace lockstep::grader::power_sgd
