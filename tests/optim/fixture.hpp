// Parameters of a few elements and the four steps of golden.py.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "engine/optim/optimizer.hpp"
#include "tests/catch.hpp"

namespace lockstep::test {

struct OptimFixture {
  CpuDevice device;

  Parameter parameter(std::vector<double> values, DType dtype = DType::float64,
                      std::string name = "p") {
    const auto count = static_cast<std::int64_t>(values.size());
    return {std::move(name), from_values(values, {count}, dtype, device), {}, {}};
  }
  Tensor gradient(std::vector<double> values, DType dtype = DType::float64) {
    const auto count = static_cast<std::int64_t>(values.size());
    return from_values(values, {count}, dtype, device, MemoryKind::gradients);
  }

  // Steps first … last of golden.py: the gradient is k·(0.1, -0.2, 0.3) + p/4.
  void steps(Parameter& p, optim::Optimizer& optimizer, int first, int last) {
    const std::vector slope = {0.1, -0.2, 0.3};
    for (int k = first; k <= last; ++k) {
      std::vector<double> g;
      for (std::size_t i = 0; i < 3; ++i) {
        g.push_back(slope[i] * k + 0.25 * p.value.item(static_cast<std::int64_t>(i)));
      }
      p.grad = gradient(g, p.value.dtype());
      optimizer.step();
    }
  }
  std::vector<double> four_steps(Parameter& p, optim::Optimizer& optimizer) {
    steps(p, optimizer, 1, 4);
    return values_of(p.value);
  }
  static std::vector<double> values_of(const Tensor& tensor) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.item(i));
    return values;
  }
};

inline void check_close(const std::vector<double>& got, const std::vector<double>& want,
                        double tolerance) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i, got[i], want[i]);
    CHECK(std::abs(got[i] - want[i]) <= tolerance);
  }
}

}  // namespace lockstep::test
