#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/dtype.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

template <typename T>
static std::vector<T> reduced(ReduceOp op, std::vector<T> a, const std::vector<T>& b) {
  reduce_elements(DTypeOf<T>::value, op, reinterpret_cast<std::byte*>(a.data()),
                  reinterpret_cast<const std::byte*>(b.data()),
                  static_cast<std::int64_t>(a.size()));
  return a;
}

TEMPLATE_TEST_CASE("reduce_elements: every operator in every dtype", "", float, double,
                   std::int64_t) {
  using T = TestType;
  const std::vector<T> a{1, -2, 3}, b{4, 5, -6};
  CHECK(reduced<T>(ReduceOp::sum, a, b) == std::vector<T>{5, 3, -3});
  CHECK(reduced<T>(ReduceOp::product, a, b) == std::vector<T>{4, -10, -18});
  CHECK(reduced<T>(ReduceOp::min, a, b) == std::vector<T>{1, -2, -6});
  CHECK(reduced<T>(ReduceOp::max, a, b) == std::vector<T>{4, 5, 3});
}

TEST_CASE("reduce_elements: min and max propagate a NaN from either side") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    CHECK(std::isnan(reduced<float>(op, {nan}, {1})[0]));
    CHECK(std::isnan(reduced<float>(op, {1}, {nan})[0]));
  }
}

TEST_CASE("reduce_elements: int64 wraps around, as two's complement does") {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(reduced<std::int64_t>(ReduceOp::sum, {most}, {1})[0] ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(reduced<std::int64_t>(ReduceOp::product, {most}, {2})[0] == -2);
}

TEST_CASE("reduce_elements: zero elements touch nothing") {
  CHECK(reduced<double>(ReduceOp::sum, {}, {}).empty());
}
