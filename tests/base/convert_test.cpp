#include "engine/base/convert.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/text.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

std::vector<double> converted(const std::vector<double>& values, DType through) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::byte> there(values.size() * bytes_of(through));
  std::vector<double> back(values.size());
  convert_elements(DType::float64, reinterpret_cast<const std::byte*>(values.data()), through,
                   there.data(), count);
  convert_elements(through, there.data(), DType::float64, reinterpret_cast<std::byte*>(back.data()),
                   count);
  return back;
}

}  // namespace

TEST_CASE("convert_elements: small integers survive every pair of dtypes, also beyond a chunk") {
  for (const std::size_t count : {0U, 1U, 7U, 512U, 513U, 1031U}) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i % 128));
    for (const DType first : all_dtypes) {
      CHECK(converted(values, first) == values);
      for (const DType second : all_dtypes) {
        std::vector<std::byte> a(count * bytes_of(first)), b(count * bytes_of(second));
        std::vector<double> back(count);
        const auto n = static_cast<std::int64_t>(count);
        convert_elements(DType::float64, reinterpret_cast<const std::byte*>(values.data()), first,
                         a.data(), n);
        convert_elements(first, a.data(), second, b.data(), n);
        convert_elements(second, b.data(), DType::float64,
                         reinterpret_cast<std::byte*>(back.data()), n);
        CAPTURE(name_of(first), name_of(second), count);
        CHECK(back == values);
      }
    }
  }
}

TEST_CASE("convert_elements: each value is rounded once, and fractions of integers are cut off") {
  CHECK(converted({1.0 / 3}, DType::float32)[0] == double(float(1.0 / 3)));
  CHECK(converted({1.0 / 3}, DType::bfloat16)[0] == double(float(BFloat16(1.0 / 3))));
  CHECK(converted({2.75, -2.75, 0.5, -0.5}, DType::int8) == std::vector<double>{2, -2, 0, 0});
  CHECK(converted({255.9, -0.9}, DType::uint8) == std::vector<double>{255, 0});
  CHECK(std::isnan(converted({std::nan("")}, DType::float16)[0]));
}

TEST_CASE("convert_elements: the largest and smallest integers fit, the ones beyond are refused") {
  CHECK(converted({127, -128}, DType::int8) == std::vector<double>{127, -128});
  CHECK(converted({-0x1p63, 0x1p62}, DType::int64) == std::vector<double>{-0x1p63, 0x1p62});
  const auto refused = [](double value, DType dtype) {
    CAPTURE(value, name_of(dtype));
    CHECK_THROWS_WITH(converted({0, value}, dtype),
                      test::contains(text("cannot be an element of type ", name_of(dtype))));
  };
  refused(128, DType::int8);
  refused(-129, DType::int8);
  refused(-1, DType::uint8);
  refused(256, DType::uint8);
  refused(0x1p31, DType::int32);
  refused(0x1p63, DType::int64);
  refused(std::nan(""), DType::int64);
  refused(std::numeric_limits<double>::infinity(), DType::int32);
}

TEST_CASE("convert_elements: int64 beyond 2^53 keeps every bit when the type stays") {
  const std::int64_t odd = (std::int64_t{1} << 60) + 1;
  std::int64_t copy = 0;
  convert_elements(DType::int64, reinterpret_cast<const std::byte*>(&odd), DType::int64,
                   reinterpret_cast<std::byte*>(&copy), 1);
  CHECK(copy == odd);
}
