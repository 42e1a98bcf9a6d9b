#include "grader/judge/compare.hpp"

#include <limits>

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {
const double not_a_number = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();
using List = std::vector<double>;
}  // namespace

TEST_CASE("first_difference: equal within the tolerance, and just outside of it") {
  CHECK_FALSE(first_difference(List{1, 2.5}, List{1, 2}, List{0, 0.5}));
  CHECK(first_difference(List{1, 2.5}, List{1, 2}, List{0, 0.49}) == 1u);
}

TEST_CASE("first_difference: a NaN or an infinity is right only where it is expected") {
  CHECK(first_difference(List{not_a_number}, List{1}, List{1e300}) == 0u);
  CHECK_FALSE(first_difference(List{not_a_number}, List{not_a_number}, List{1}));
  CHECK_FALSE(first_difference(List{infinity}, List{infinity}, List{0}));
  CHECK(first_difference(List{infinity}, List{-infinity}, List{infinity}) == 0u);
  CHECK(first_difference(List{infinity}, List{1}, List{infinity}) == 0u);
  CHECK(first_difference(List{not_a_number}, List{infinity}, List{infinity}) == 0u);
  CHECK(first_difference(List{1}, List{not_a_number}, List{1}) == 0u);
  CHECK(first_difference(List{1}, List{1.5}, List{not_a_number}) == 0u);
}

TEST_CASE("first_difference: a missing or an extra element differs at the shorter length") {
  CHECK(first_difference(List{1}, List{1, 2}, List{0, 0}) == 1u);
  CHECK(first_difference(List{1, 2, 3}, List{1, 2}, List{0, 0}) == 2u);
  CHECK(first_difference(List{}, List{1}, List{0}) == 0u);
  CHECK_FALSE(first_difference(List{}, List{}, List{}));
}

TEST_CASE("as_doubles and to_bytes: every dtype there and back") {
  for (DType dtype : all_dtypes) {
    const List values{dtype == DType::uint8 ? 3.0 : -3.0, 0, 7};
    const Bytes bytes = to_bytes(dtype, values);
    CHECK(bytes.size() == 3 * bytes_of(dtype));
    CHECK(as_doubles(dtype, bytes) == values);
  }
}

TEST_CASE("number: as short as tells the value") {
  CHECK(number(0.5) == "0.5");
  CHECK(number(1e6) == "1000000");
  CHECK(number(4e15) == "4000000000000000");
  CHECK(number(1e300) == "1e+300");
  CHECK(number(0.1 + 0.2) == "0.30000000000000004");
  CHECK(number(0.1) == "0.1");
  CHECK(number(static_cast<double>(0.1F)) == "0.100000001");
  CHECK(number(1099511627776.0) == "1099511627776");
  CHECK(number(not_a_number) == "NaN");
}

TEST_CASE("compare: an expected number has the digits of the type that would hold it") {
  CHECK(number(0.1 + 0.2, DType::float64) == "0.30000000000000004");
  CHECK(number(0.1 + 0.2, DType::float32) == "0.300000012");
  CHECK(number(0.1 + 0.2, DType::bfloat16) == "0.30078125");
  CHECK(number(7, DType::int64) == "7");
  const std::vector<double> values{0.1};
  CHECK(number_at(values, 0, DType::float32) == "0.100000001");
  CHECK(number_at(values, 1, DType::float32) == "nothing");
}

TEST_CASE("compare: a large count is written in groups of three") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(-1234567) == "-1,234,567");
  CHECK(grouped(-100) == "-100");
  CHECK(grouped(std::numeric_limits<std::int64_t>::max()) == "9,223,372,036,854,775,807");
}
