// Products of matrices in plain loops of double, for the one device of an exam. Matrices are rows
// after rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::grader {

using Numbers = std::vector<double>;

// Sizes of a linear layer: x [rows, inputs], weight [outputs, inputs], y [rows, outputs].
struct DenseSizes {
  std::int64_t rows = 1, inputs = 1, outputs = 1;
};

// x·Wᵀ
inline Numbers dense_output(const DenseSizes& s, const Numbers& x, const Numbers& weight) {
  Numbers y(static_cast<std::size_t>(s.rows * s.outputs));
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t o = 0; o < s.outputs; ++o) {
      double sum = 0;
      for (std::int64_t i = 0; i < s.inputs; ++i) {
        sum += x[static_cast<std::size_t>(r * s.inputs + i)] *
               weight[static_cast<std::size_t>(o * s.inputs + i)];
      }
      y[static_cast<std::size_t>(r * s.outputs + o)] = sum;
    }
  }
  return y;
}
// dy·W
inline Numbers dense_to_input(const DenseSizes& s, const Numbers& dy, const Numbers& weight) {
  Numbers dx(static_cast<std::size_t>(s.rows * s.inputs));
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t i = 0; i < s.inputs; ++i) {
      double sum = 0;
      for (std::int64_t o = 0; o < s.outputs; ++o) {
        sum += dy[static_cast<std::size_t>(r * s.outputs + o)] *
               weight[static_cast<std::size_t>(o * s.inputs + i)];
      }
      dx[static_cast<std::size_t>(r * s.inputs + i)] = sum;
    }
  }
  return dx;
}
// dyᵀ·x
inline Numbers dense_to_weight(const DenseSizes& s, const Numbers& dy, const Numbers& x) {
  Numbers dw(static_cast<std::size_t>(s.outputs * s.inputs));
  for (std::int64_t o = 0; o < s.outputs; ++o) {
    for (std::int64_t i = 0; i < s.inputs; ++i) {
      double sum = 0;
      for (std::int64_t r = 0; r < s.rows; ++r) {
        sum += dy[static_cast<std::size_t>(r * s.outputs + o)] *
               x[static_cast<std::size_t>(r * s.inputs + i)];
      }
      dw[static_cast<std::size_t>(o * s.inputs + i)] = sum;
    }
  }
  return dw;
}
// The rows of a matrix of `columns`, added.
inline Numbers added_rows(std::int64_t columns, const Numbers& matrix) {
  Numbers sum(static_cast<std::size_t>(columns));
  for (std::size_t e = 0; e < matrix.size(); ++e) sum[e % sum.size()] += matrix[e];
  return sum;
}
// In place: factor · row is added to each row.
inline void add_to_rows(Numbers& matrix, const Numbers& row, double factor = 1) {
  for (std::size_t e = 0; e < matrix.size(); ++e) matrix[e] += factor * row[e % row.size()];
}

inline void add_numbers(Numbers& sum, const Numbers& other) {
  if (sum.empty()) sum.resize(other.size());
  for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += other[e];
}
inline Numbers scaled_numbers(Numbers all, double factor) {
  for (double& value : all) value *= factor;
  return all;
}

}  // namespace lockstep::grader
