// The 16-bit floats: exact to float, and rounded from double once, in the way that is asked for.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lockstep::paper {

enum class Round { nearest, zero, down, up };

struct [[gnu::may_alias]] Half {  // IEEE binary16
  std::uint16_t bits = 0;
};
struct [[gnu::may_alias]] BFloat {  // the upper half of a float
  std::uint16_t bits = 0;
};
struct [[gnu::may_alias]] Half2 {
  Half lo, hi;
};
struct [[gnu::may_alias]] BFloat2 {
  BFloat lo, hi;
};

inline float to_float(BFloat value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}
inline float to_float(Half value) {
  const std::uint32_t sign = std::uint32_t{value.bits} >> 15 << 31;
  const std::uint32_t rest = value.bits & 0x7FFFU;
  if (rest >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000U | (rest & 0x3FFU) << 13);
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

// `value` to `digits` bits of significand, exponents from `least` on (of the smallest normal
// number).
inline double rounded(double value, int digits, int least, Round round) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  const int unit = (exponent - 1 < least ? least : exponent - 1) - (digits - 1);
  const double scaled = std::ldexp(value, -unit);
  const double whole = round == Round::nearest ? std::nearbyint(scaled)
                       : round == Round::zero  ? std::trunc(scaled)
                       : round == Round::down  ? std::floor(scaled)
                                               : std::ceil(scaled);
  return std::copysign(std::ldexp(whole, unit), value);
}

// Past the largest number: infinity, or the largest number where the rounding points inwards.
inline double overflowed(double value, double largest, Round round) {
  if (!(std::abs(value) > largest) || std::isinf(value)) return value;
  const bool stays = round == Round::zero || (round == Round::down && value > 0) ||
                     (round == Round::up && value < 0);
  return std::copysign(stays ? largest : std::numeric_limits<double>::infinity(), value);
}

inline Half half_of(double value, Round round = Round::nearest) {
  if (std::isnan(value)) return {0x7FFF};
  value = std::isinf(value) ? value : overflowed(rounded(value, 11, -14, round), 65504.0, round);
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  value = std::abs(value);
  if (std::isinf(value)) return {static_cast<std::uint16_t>(sign | 0x7C00)};
  const float small =
      static_cast<float>(value) * 0x1p-112F;  // exact: its bits are the half's, moved
  return {static_cast<std::uint16_t>(sign | std::bit_cast<std::uint32_t>(small) >> 13)};
}

inline BFloat bfloat_of(double value, Round round = Round::nearest) {
  if (std::isnan(value)) return {0x7FFF};
  if (!std::isinf(value)) value = overflowed(rounded(value, 8, -126, round), 0x1.FEp127, round);
  return {
      static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16)};
}
inline BFloat bfloat_of(float value) {  // to nearest, as stores of every kernel do it
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {0x7FFF};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16)};
}

// a * b + c for factors of at most 24 bits, rounded to odd: rounding it again to fewer than 52 bits
// is as good as rounding the exact value.
inline double fused_to_odd(double a, double b, double c) {
  const double product = a * b;  // exact
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (c - back);
  if (error == 0 || (std::bit_cast<std::uint64_t>(sum) & 1U) != 0) return sum;
  return std::nextafter(sum, error > 0 ? std::numeric_limits<double>::infinity()
                                       : -std::numeric_limits<double>::infinity());
}

}  // namespace lockstep::paper
