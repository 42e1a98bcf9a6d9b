// The halves against their definition: a value is what IEEE 754 says its bits mean, and the nearest
// half is found by looking at the neighbours, not by the arithmetic under test.
#include "engine/base/half.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/base/text.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

// Fields of the two formats, from which everything else is computed.
template <typename Half>
struct Format;
template <>
struct Format<BFloat16> {
  static constexpr int fraction_bits = 7, exponents = 256, bias = 127;
};
template <>
struct Format<Float16> {
  static constexpr int fraction_bits = 10, exponents = 32, bias = 15;
};

// What the bits mean, in float64, where every half is exact. NaN for a NaN.
template <typename Half>
double meaning(std::uint16_t bits) {
  using F = Format<Half>;
  const int fraction = bits & ((1 << F::fraction_bits) - 1);
  const int exponent = (bits >> F::fraction_bits) & (F::exponents - 1);
  const double sign = bits >= 0x8000 ? -1 : 1;
  if (exponent == F::exponents - 1) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  const int hidden = exponent == 0 ? 0 : 1 << F::fraction_bits;
  return sign * std::ldexp(hidden + fraction, std::max(exponent, 1) - F::bias - F::fraction_bits);
}

template <typename Half>
constexpr std::uint16_t infinity_bits = (Format<Half>::exponents - 1)
                                        << Format<Half>::fraction_bits;

// The positive half nearest to `value` >= 0 by the definition: of the two neighbours the nearer
// one, of two equally near ones the even one; the value beyond the largest counts as a neighbour.
template <typename Half>
std::uint16_t nearest_of(double value) {
  std::uint32_t low = 0, high = infinity_bits<Half>;  // bits of positive halves rise with the value
  const double beyond = std::ldexp(1.0, Format<Half>::exponents - 1 - Format<Half>::bias);
  const auto at = [&](std::uint32_t bits) {
    return bits == infinity_bits<Half> ? beyond : meaning<Half>(static_cast<std::uint16_t>(bits));
  };
  if (value >= beyond) return infinity_bits<Half>;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (at(middle) <= value ? low : high) = middle;
  }
  const double below = value - at(low), above = at(high) - value;  // exact: Sterbenz, or few bits
  const bool up = above < below || (above == below && low % 2 == 1);
  return static_cast<std::uint16_t>(up ? high : low);
}

template <typename Half, typename From>
std::string wrong_rounding_of(From value) {
  const std::uint16_t seen = Half(value).bits;
  auto expected = nearest_of<Half>(std::fabs(static_cast<double>(value)));
  if (std::signbit(value)) expected = static_cast<std::uint16_t>(expected | 0x8000);
  if (seen == expected) return "";
  return text(value, " became bits ", seen, ", the nearest are ", expected);
}

}  // namespace

TEMPLATE_TEST_CASE("half: all 65536 patterns mean what IEEE 754 says and come back", "", BFloat16,
                   Float16) {
  using Half = TestType;
  std::string wrong;
  for (std::uint32_t pattern = 0; pattern <= 0xFFFF; ++pattern) {
    Half half;
    half.bits = static_cast<std::uint16_t>(pattern);
    const double expected = meaning<Half>(half.bits);
    const float value = half;
    const std::uint16_t back = Half(value).bits, wide = Half(static_cast<double>(value)).bits;
    if (std::isnan(expected)) {
      const auto quiet = half.bits | (1U << (Format<Half>::fraction_bits - 1));
      if (!std::isnan(value) || back != quiet || wide != quiet) wrong = text("NaN ", pattern);
    } else if (double(value) != expected || std::signbit(value) != std::signbit(expected) ||
               back != pattern || wide != pattern) {
      wrong = text("bits ", pattern, " are ", expected, ", read as ", value, ", back ", back);
    }
  }
  CHECK(wrong == "");
}

TEMPLATE_TEST_CASE("half: ties go to even, and what is beside a tie to its own side", "", BFloat16,
                   Float16) {
  using Half = TestType;
  std::string wrong;
  const auto check = [&](auto value) {
    for (auto signed_value : {value, -value}) {
      const std::string found = wrong_rounding_of<Half>(signed_value);
      if (!found.empty()) wrong = found;
    }
  };
  for (std::uint16_t bits = 0; bits < infinity_bits<Half>; ++bits) {
    const double here = meaning<Half>(bits);
    const double next = bits + 1 == infinity_bits<Half>
                            ? std::ldexp(1.0, Format<Half>::exponents - 1 - Format<Half>::bias)
                            : meaning<Half>(static_cast<std::uint16_t>(bits + 1));
    const double tie = (here + next) / 2;  // exact in float32 as well: one bit more than a half has
    const auto tie32 = static_cast<float>(tie);
    if (double(tie32) == tie) {  // not at the very end of bfloat16's subnormals and range
      check(tie32);
      check(std::nextafter(tie32, 0.0F));
      check(std::nextafter(tie32, std::numeric_limits<float>::infinity()));
    }
    // Closer to the tie than float32 can say: rounding twice would go wrong here.
    check(tie);
    check(std::nextafter(tie, 0.0));
    check(std::nextafter(tie, std::numeric_limits<double>::infinity()));
  }
  CHECK(wrong == "");
}

TEMPLATE_TEST_CASE("half: arbitrary floats become the nearest half, one by one and in bulk", "",
                   BFloat16, Float16) {
  using Half = TestType;
  std::vector<float> values;
  for (std::uint64_t i = 0; i < 100'003; ++i) {
    const auto bits = static_cast<std::uint32_t>(random_bits(11, i));
    // Every third one in the range of float16, where the interesting cases are.
    const std::uint32_t narrowed = (bits & 0x8FFF'FFFF) | 0x3000'0000;
    values.push_back(std::bit_cast<float>(i % 3 == 0 ? narrowed : bits));
  }
  std::vector<Half> halves(values.size());
  convert(std::span<const float>(values), std::span(halves));
  std::vector<float> back(values.size());
  convert(std::span<const Half>(halves), std::span(back));
  std::string wrong;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      if (!std::isnan(float(halves[i])) || !std::isnan(back[i])) wrong = "a NaN was lost";
      continue;
    }
    if (const auto found = wrong_rounding_of<Half>(values[i]); !found.empty()) wrong = found;
    if (halves[i].bits != Half(values[i]).bits) wrong = text("bulk differs at ", i);
    if (back[i] != float(halves[i])) wrong = text("bulk differs on the way back at ", i);
  }
  CHECK(wrong == "");
}

TEST_CASE(
    "half: a NaN keeps its sign and the upper bits of its payload, and is never an infinity") {
  const auto nan = std::bit_cast<float>(0xFF80'0001);  // signalling, payload in the last bit only
  CHECK(BFloat16(nan).bits == 0xFFC0);
  CHECK(Float16(nan).bits == 0xFE00);
  const auto payload = std::bit_cast<float>(0x7FD5'0000);
  CHECK(BFloat16(payload).bits == 0x7FD5);
  CHECK(Float16(payload).bits == 0x7EA8);
}

TEST_CASE("half: landmarks of both formats, and integers become halves") {
  CHECK(Float16(65504.0F).bits == 0x7BFF);
  CHECK(Float16(65519.0F).bits == 0x7BFF);
  CHECK(Float16(65520.0F).bits == 0x7C00);
  CHECK(Float16(std::numeric_limits<float>::max()).bits == 0x7C00);
  CHECK(BFloat16(std::numeric_limits<float>::max()).bits == 0x7F80);
  CHECK(BFloat16(1.0F).bits == 0x3F80);
  CHECK(float(Float16(2049)) == 2048);
  CHECK(float(BFloat16(257)) == 256);
  CHECK(float(BFloat16(1e300)) == std::numeric_limits<float>::infinity());
  CHECK(float(Float16(-1e-300)) == 0);
  CHECK(std::signbit(float(Float16(-1e-300))));
}

TEST_CASE("convert: spans of two lengths are refused with both") {
  std::vector<float> three(3);
  std::vector<Float16> two(2);
  CHECK_THROWS_WITH(convert(std::span<const float>(three), std::span(two)),
                    test::contains("3 elements into room for 2"));
}
