// Soft arithmetic: align, operate, jam.
#include "tests/paper/conformance/exact.hpp"

#include <algorithm>

namespace lockstep::paper::test {
namespace {

constexpr int kept = 124;  // bits: room for a carry, and for one bit below

int length(UWide value) {
  const auto high = static_cast<std::uint64_t>(value >> 64),
             low = static_cast<std::uint64_t>(value);
  if (high != 0) return 128 - __builtin_clzll(high);
  return low != 0 ? 64 - __builtin_clzll(low) : 0;
}

UWide shifted_down(UWide value, int by) {  // the bits that fall out are jammed
  if (by <= 0) return value;
  if (by >= 128) return value != 0 ? 1 : 0;
  return (value >> by) | UWide{(value & ((UWide{1} << by) - 1)) != 0 ? 1U : 0U};
}

Exact widened(Exact value) {  // the same value, with all bits kept in use
  const int by = kept - length(value.whole);
  if (value.whole == 0 || by <= 0) return value;
  value.whole <<= by;
  value.exponent -= by;
  return value;
}

Exact no_number() { return {Exact::What::nan, false, 0, 0}; }
Exact infinite(bool negative) { return {Exact::What::infinite, negative, 0, 0}; }

// value >> by, rounded.
UWide rounded_down_by(const Exact& value, int by, Mode mode) {
  if (by <= 0) return value.whole << -by;
  const UWide kept_bits = by >= 128 ? 0 : value.whole >> by;
  const UWide rest = by >= 128 ? value.whole : value.whole & ((UWide{1} << by) - 1);
  bool up = false;
  switch (mode) {
    case Mode::nearest: {
      // Past the width, the value is less than a half.
      const UWide half = by > 128 ? 0 : UWide{1} << (by - 1);
      up = by <= 128 && (rest > half || (rest == half && (kept_bits & 1) != 0));
      break;
    }
    case Mode::zero:
      break;
    case Mode::down:
      up = value.negative && rest != 0;
      break;
    case Mode::up:
      up = !value.negative && rest != 0;
      break;
  }
  return kept_bits + UWide{up ? 1U : 0U};
}

}  // namespace

Exact unpack(Format format, std::uint64_t bits) {
  Exact value;
  value.negative = (bits & format.sign()) != 0;
  const std::uint64_t rest = bits & (format.sign() - 1);
  if (rest > format.infinity()) return no_number();
  if (rest == format.infinity()) return infinite(value.negative);
  const int step = format.digits - 1;
  const std::uint64_t field = rest >> step, fraction = rest & ((std::uint64_t{1} << step) - 1);
  value.whole = field == 0 ? fraction : fraction | std::uint64_t{1} << step;
  value.exponent = format.least() - step + (field == 0 ? 0 : static_cast<int>(field) - 1);
  return value;
}

std::uint64_t pack(Format format, const Exact& value, Mode mode) {
  if (value.is_nan()) return format.nan();
  const std::uint64_t sign = value.negative ? format.sign() : 0;
  if (value.what == Exact::What::infinite) return sign | format.infinity();
  if (value.whole == 0) return sign;
  const int lowest = format.least() - (format.digits - 1);
  const int top = value.exponent + length(value.whole) - 1;
  const int unit = std::max(top - (format.digits - 1), lowest);
  const UWide digits = rounded_down_by(value, unit - value.exponent, mode);
  // The hidden digit, and a carry out of the digits, add one to the exponent by themselves.
  const UWide bits = (static_cast<UWide>(unit - lowest) << (format.digits - 1)) + digits;
  if (bits < format.infinity()) return sign | static_cast<std::uint64_t>(bits);
  const bool inwards = mode == Mode::zero || (mode == Mode::down && !value.negative) ||
                       (mode == Mode::up && value.negative);
  return sign | (inwards ? format.infinity() - 1 : format.infinity());
}

Exact exact_of(Wide value) {
  Exact made;
  made.negative = value < 0;
  made.whole = value < 0 ? -static_cast<UWide>(value) : static_cast<UWide>(value);
  return made;
}

Wide whole_of(const Exact& value, Mode mode) {
  const auto whole = static_cast<Wide>(rounded_down_by(value, -value.exponent, mode));
  return value.negative ? -whole : whole;
}

Exact negated(Exact value) {
  value.negative = !value.negative;
  return value;
}

Exact product(const Exact& a, const Exact& b) {
  if (a.is_nan() || b.is_nan()) return no_number();
  const bool negative = a.negative != b.negative;
  if (a.what == Exact::What::infinite || b.what == Exact::What::infinite) {
    return a.is_zero() || b.is_zero() ? no_number() : infinite(negative);
  }
  return {Exact::What::finite, negative, a.whole * b.whole, a.exponent + b.exponent};
}

Exact sum(const Exact& a, const Exact& b, Mode mode) {
  if (a.is_nan() || b.is_nan()) return no_number();
  const bool a_infinite = a.what == Exact::What::infinite;
  const bool b_infinite = b.what == Exact::What::infinite;
  if (a_infinite && b_infinite && a.negative != b.negative) return no_number();
  if (a_infinite || b_infinite) return a_infinite ? a : b;
  if (a.is_zero() && b.is_zero()) {
    Exact zero = a;
    zero.negative = a.negative == b.negative ? a.negative : mode == Mode::down;
    return zero;
  }
  if (a.is_zero() || b.is_zero()) return a.is_zero() ? b : a;
  Exact x = widened(a), y = widened(b);
  if (x.exponent < y.exponent || (x.exponent == y.exponent && x.whole < y.whole)) std::swap(x, y);
  y.whole = shifted_down(y.whole, x.exponent - y.exponent);
  x.whole = x.negative == y.negative ? x.whole + y.whole : x.whole - y.whole;
  if (x.whole == 0) x.negative = mode == Mode::down;
  return x;
}

Exact quotient(const Exact& a, const Exact& b) {
  if (a.is_nan() || b.is_nan()) return no_number();
  const bool negative = a.negative != b.negative;
  if (a.what == Exact::What::infinite) {
    return b.what == Exact::What::infinite ? no_number() : infinite(negative);
  }
  if (b.what == Exact::What::infinite) return {Exact::What::finite, negative, 0, 0};
  if (b.is_zero()) return a.is_zero() ? no_number() : infinite(negative);
  if (a.is_zero()) return {Exact::What::finite, negative, 0, 0};
  const Exact x = widened(a);
  const UWide whole = x.whole / b.whole, rest = x.whole % b.whole;
  return {Exact::What::finite, negative, whole << 1 | UWide{rest != 0 ? 1U : 0U},
          x.exponent - b.exponent - 1};
}

Exact root(const Exact& value) {
  if (value.is_nan() || value.is_zero()) return value;
  if (value.negative) return no_number();
  if (value.what == Exact::What::infinite) return value;
  Exact x = widened(value);
  if (x.exponent % 2 != 0) x.whole <<= 1, --x.exponent;
  UWide low = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const UWide trial = low | UWide{1} << bit;
    if (trial * trial <= x.whole) low = trial;
  }
  return {Exact::What::finite, false, low << 1 | UWide{low * low != x.whole ? 1U : 0U},
          x.exponent / 2 - 1};
}

int order(const Exact& a, const Exact& b) {
  if (a.is_nan() || b.is_nan()) return 2;
  const Exact difference = sum(a, negated(b), Mode::nearest);
  if (difference.is_nan()) return 0;  // infinities of one sign
  if (difference.is_zero()) return 0;
  return difference.negative ? -1 : 1;
}

}  // namespace lockstep::paper::test
