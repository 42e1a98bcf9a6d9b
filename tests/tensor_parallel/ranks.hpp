// What the tests of the parts have in common: ranks with numbers, weights, and what is near.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"
#include "tests/tensor_parallel/recorded_group.hpp"
#include "tests/train/fiber_ranks.hpp"

namespace lockstep::test {

inline constexpr int group_sizes[] = {1, 2, 3, 4, 8};

using Calls = std::vector<std::string>;

// Runs `body` on each rank of a group that writes down its collectives.
inline void on_recorded_ranks(int ranks, const std::function<void(RecordedGroup&, Device&)>& body) {
  on_fibers(ranks, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    RecordedGroup group(world);
    body(group, device);
  });
}

// Numbers between -1 and 1; its own for each stream.
inline Tensor drawn(Shape shape, std::uint64_t stream, Device& device,
                    DType dtype = DType::float64) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel_of(shape); ++i) {
    values.push_back(2 * random_uniform(stream, static_cast<std::uint64_t>(i)) - 1);
  }
  return from_values(values, shape, dtype, device);
}

inline Parameter parameter(Tensor value) { return {"p", std::move(value), {}, {}}; }

inline double difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.defined());
  REQUIRE(b.defined());
  REQUIRE(a.shape() == b.shape());
  double most = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double apart = std::abs(a.item(i) - b.item(i));
    most = apart <= most ? most : apart;  // a NaN stays
    if (std::isnan(apart)) return std::numeric_limits<double>::infinity();
  }
  return most;
}

// float64, in which sums of some hundred terms of size 1 are taken in another order.
inline constexpr double near = 1e-12;

inline Tensor rows_of_rank(const Tensor& x, int rank, int ranks) {
  const std::int64_t count = x.size(0) / ranks;
  return x.narrow(rank * count, count).clone();
}
inline Tensor columns_of_rank(const Tensor& x, int rank, int ranks, std::int64_t axis = 1) {
  const std::int64_t count = x.size(axis) / ranks;
  return ops::narrow(x, axis, rank * count, count);
}

}  // namespace lockstep::test
