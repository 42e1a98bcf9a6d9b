// What the tests of a shared sequence have in common: numbers, a rank's tokens, and dense
// attention.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/nn/token_share.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

namespace lockstep::test {

// float64, in which sums of some hundred terms are taken in another order.
inline constexpr double near = 1e-12;

// Numbers between -size and size; its own for each stream.
inline Tensor drawn(Shape shape, std::uint64_t stream, Device& device, double size = 1) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel_of(shape); ++i) {
    values.push_back(size * (2 * random_uniform(stream, static_cast<std::uint64_t>(i)) - 1));
  }
  return from_values(values, shape, DType::float64, device);
}

inline double difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.defined());
  REQUIRE(b.defined());
  REQUIRE(a.shape() == b.shape());
  double most = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    if (a.item(i) == b.item(i)) continue;  // also where both are -∞
    const double apart = std::abs(a.item(i) - b.item(i));
    if (std::isnan(apart)) return std::numeric_limits<double>::infinity();
    most = std::max(most, apart);
  }
  return most;
}

// Columns [first, first + count) of the last axis.
inline Tensor columns(const Tensor& x, std::int64_t first, std::int64_t count) {
  return ops::narrow(x, 2, first, count);
}

}  // namespace lockstep::test
