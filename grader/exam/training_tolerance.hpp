// How far a training run may end from where one device ends.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "engine/base/dtype.hpp"

namespace lockstep::grader {

// In float64, sums in another order move the result of some dozen steps by some 1e-13; Adam divides
// by the root of the second moment and so magnifies that for tiny gradients. 1e-6 leaves room for
// every right order of summation and is far below what any mistake changes. In float32 the same
// sums differ by some 1e-6.
inline std::vector<double> training_tolerance(DType dtype, std::span<const double> expected) {
  const double relative = dtype == DType::float64 ? 1e-6 : 1e-3;
  std::vector<double> tolerance;
  for (double value : expected) tolerance.push_back(relative * std::max(1.0, std::fabs(value)));
  return tolerance;
}

}  // namespace lockstep::grader
