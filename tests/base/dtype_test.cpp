#include "engine/base/dtype.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/base/reduce.hpp"
#include "engine/base/text.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

template <typename T>
static std::vector<T> reduced(ReduceOp op, std::vector<T> a, const std::vector<T>& b) {
  reduce_elements(DTypeOf<T>::value, op, reinterpret_cast<std::byte*>(a.data()),
                  reinterpret_cast<const std::byte*>(b.data()),
                  static_cast<std::int64_t>(a.size()));
  return a;
}

template <typename T>
static std::vector<T> list(std::initializer_list<int> values) {
  std::vector<T> elements;
  for (const int value : values) elements.push_back(static_cast<T>(value));
  return elements;
}

TEST_CASE("dtype: each has its size and its name, and the first three keep their numbers") {
  std::vector<std::string> seen;
  for (const DType dtype : all_dtypes) {
    seen.push_back(text(int(dtype), " ", name_of(dtype), " ", bytes_of(dtype),
                        is_integer(dtype) ? " integer" : ""));
  }
  CHECK(seen == std::vector<std::string>{"0 float32 4", "1 float64 8", "2 int64 8 integer",
                                         "3 int32 4 integer", "4 int8 1 integer",
                                         "5 uint8 1 integer", "6 bfloat16 2", "7 float16 2"});
}

TEMPLATE_TEST_CASE("reduce_elements: every operator in every dtype", "", float, double,
                   std::int64_t, std::int32_t, std::int8_t, BFloat16, Float16) {
  using T = TestType;
  const std::vector<T> a = list<T>({1, -2, 3}), b = list<T>({4, 5, -6});
  CHECK(reduced<T>(ReduceOp::sum, a, b) == list<T>({5, 3, -3}));
  CHECK(reduced<T>(ReduceOp::product, a, b) == list<T>({4, -10, -18}));
  CHECK(reduced<T>(ReduceOp::min, a, b) == list<T>({1, -2, -6}));
  CHECK(reduced<T>(ReduceOp::max, a, b) == list<T>({4, 5, 3}));
}

TEMPLATE_TEST_CASE("reduce_elements: halves are combined wide and rounded once", "", BFloat16,
                   Float16) {
  using T = TestType;
  std::vector<T> a, b;
  for (std::uint64_t i = 0; i < 20'011; ++i) {
    for (auto [side, stream] : {std::pair{&a, 1}, std::pair{&b, 2}}) {
      T half;
      half.bits = static_cast<std::uint16_t>(random_bits(static_cast<std::uint64_t>(stream), i));
      side->push_back(std::isfinite(float(half)) ? half : T(1));
    }
  }
  const auto sums = reduced(ReduceOp::sum, a, b), products = reduced(ReduceOp::product, a, b);
  const auto smaller = reduced(ReduceOp::min, a, b), larger = reduced(ReduceOp::max, a, b);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float x = a[i], y = b[i];
    wrong += sums[i].bits != T(x + y).bits ? 1 : 0;
    wrong += products[i].bits != T(x * y).bits ? 1 : 0;
    wrong += float(smaller[i]) != std::min(x, y) || float(larger[i]) != std::max(x, y) ? 1 : 0;
    // Float16: the product of two 11-bit fractions fits a float32, so once in float64 is the same.
    if (std::is_same_v<T, Float16>) wrong += products[i].bits != T(double(x) * y).bits ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(float(reduced<T>(ReduceOp::sum, list<T>({2048}), list<T>({1}))[0]) == 2048);
}

TEMPLATE_TEST_CASE("reduce_elements: min and max propagate a NaN from either side", "", float,
                   double, BFloat16, Float16) {
  using T = TestType;
  const T nan(std::numeric_limits<float>::quiet_NaN()), one(1.0F);
  for (ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    CHECK(std::isnan(float(reduced<T>(op, {nan}, {one})[0])));
    CHECK(std::isnan(float(reduced<T>(op, {one}, {nan})[0])));
  }
}

TEMPLATE_TEST_CASE("reduce_elements: integers wrap around, as two's complement does", "",
                   std::int64_t, std::int32_t, std::int8_t, std::uint8_t) {
  using T = TestType;
  constexpr T most = std::numeric_limits<T>::max();
  CHECK(reduced<T>(ReduceOp::sum, {most}, {1})[0] == std::numeric_limits<T>::min());
  CHECK(reduced<T>(ReduceOp::product, {most}, {2})[0] == static_cast<T>(-2));
}

TEST_CASE("reduce_elements: zero elements touch nothing") {
  CHECK(reduced<double>(ReduceOp::sum, {}, {}).empty());
}

TEMPLATE_TEST_CASE("reduce_in_order: many sources, one element after the other, in every result",
                   "", float, std::int32_t, BFloat16) {
  using T = TestType;
  const int ranks = GENERATE(1, 2, 3, 5);
  const std::int64_t count = GENERATE(0, 1, 127, 1009);  // a prime, so that the end has no register
  std::vector<std::vector<T>> brought(static_cast<std::size_t>(ranks));
  std::vector<const std::byte*> sources;
  for (std::size_t rank = 0; rank < brought.size(); ++rank) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto bits = random_bits(rank, static_cast<std::uint64_t>(i));
      brought[rank].push_back(static_cast<T>(static_cast<float>(bits % 1000) * 0.37F));
    }
    sources.push_back(reinterpret_cast<const std::byte*>(brought[rank].data()));
  }
  std::vector<T> expected = brought[0], apart(static_cast<std::size_t>(count));
  for (std::size_t rank = 1; rank < brought.size(); ++rank) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = static_cast<T>(expected[i] + brought[rank][i]);
    }
  }
  // The last source is a result too.
  std::byte* const results[] = {reinterpret_cast<std::byte*>(apart.data()),
                                reinterpret_cast<std::byte*>(brought.back().data())};
  reduce_in_order(DTypeOf<T>::value, ReduceOp::sum, sources, results, count);
  CHECK(apart == expected);
  CHECK(brought.back() == expected);
}

// What the ranks of a test bring: numbers whose sums round, and one that is not finite.
template <typename T>
struct Brought {
  using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
  Wide share;
  std::vector<std::vector<T>> of_ranks;
  std::vector<const std::byte*> sources;

  Brought(int ranks, std::int64_t count)
      : share(static_cast<Wide>(1.0 / ranks)), of_ranks(static_cast<std::size_t>(ranks)) {
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      for (std::int64_t i = 0; i < count; ++i) {
        const auto bits = random_bits(rank + 29, static_cast<std::uint64_t>(i));
        of_ranks[rank].push_back(
            static_cast<T>(static_cast<float>(bits % 100003) * 0.37F - 17000.0F));
      }
      if (count > 1 && rank == 1) of_ranks[1][0] = T(std::numeric_limits<float>::infinity());
      sources.push_back(reinterpret_cast<const std::byte*>(of_ranks[rank].data()));
    }
  }
  std::vector<T> shared(const std::vector<T>& elements) const {
    std::vector<T> products;
    for (const T element : elements) {
      products.push_back(static_cast<T>(static_cast<Wide>(element) * share));
    }
    return products;
  }
  static void add(std::vector<T>& sum, const std::vector<T>& next) {
    reduce_elements(DTypeOf<T>::value, ReduceOp::sum, reinterpret_cast<std::byte*>(sum.data()),
                    reinterpret_cast<const std::byte*>(next.data()), std::ssize(sum));
  }
  // Calls `reduce` with results of which the last is the last source too, and compares bits.
  template <typename Reduce>
  void check(const std::vector<T>& expected, const Reduce& reduce) {
    std::vector<T> apart(expected.size());
    const std::array results{reinterpret_cast<std::byte*>(apart.data()),
                             reinterpret_cast<std::byte*>(of_ranks.back().data())};
    reduce(DTypeOf<T>::value, 1.0 / static_cast<double>(of_ranks.size()), sources, results,
           std::ssize(expected));
    for (const std::vector<T>& seen : {apart, of_ranks.back()}) {
      CHECK(std::ranges::equal(std::as_bytes(std::span(seen)), std::as_bytes(std::span(expected))));
    }
  }
};

// Shares that are no powers of two.
TEMPLATE_TEST_CASE(
    "sum_of_shares: the bits of sources that were multiplied before they were summed", "", float,
    double, BFloat16, Float16) {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 13);
  Brought<TestType> brought(ranks, GENERATE(0, 1, 127, 1009));
  std::vector<TestType> expected = brought.shared(brought.of_ranks[0]);
  for (std::size_t rank = 1; rank < brought.of_ranks.size(); ++rank) {
    brought.add(expected, brought.shared(brought.of_ranks[rank]));
  }
  brought.check(expected, sum_of_shares);
}

TEMPLATE_TEST_CASE("scaled_sum: the bits of a sum that was multiplied afterwards", "", float,
                   double, BFloat16, Float16) {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 13);
  Brought<TestType> brought(ranks, GENERATE(0, 1, 127, 1009));
  std::vector<TestType> sum = brought.of_ranks[0];
  for (std::size_t rank = 1; rank < brought.of_ranks.size(); ++rank) {
    brought.add(sum, brought.of_ranks[rank]);
  }
  brought.check(brought.shared(sum), scaled_sum);
}

TEST_CASE("sum_of_shares and scaled_sum: integers hold no shares") {
  const std::int32_t one = 1, other = 2;
  const std::byte* const sources[] = {reinterpret_cast<const std::byte*>(&one),
                                      reinterpret_cast<const std::byte*>(&other)};
  CHECK_THROWS_AS(sum_of_shares(DType::int32, 0.5, sources, {}, 1), ContractError);
  CHECK_THROWS_AS(scaled_sum(DType::int32, 0.5, sources, {}, 1), ContractError);
}
