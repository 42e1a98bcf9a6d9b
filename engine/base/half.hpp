// The two element types of 16 bits. They store; arithmetic happens in float32: a half becomes a
// float without loss, and a float becomes the half nearest to it.
//
//   type      sign exponent fraction   largest     smallest > 0         one above 1
//   BFloat16  1    8        7          3.39e38     2^-133 (subnormal)   1 + 2^-7
//   Float16   1    5        10         65504       2^-24 (subnormal)    1 + 2^-10
//
// BFloat16 is the upper half of a float32: its range, an eighth of Float16's precision. Rounding is
// to nearest, ties to the even fraction, as IEEE 754 has it; what rounds beyond the largest value
// is an infinity. A NaN stays a NaN with its sign and the upper bits of its payload, and is quiet
// afterwards.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <span>

namespace lockstep {
namespace half {

constexpr std::uint32_t sign_bit = 0x8000'0000;
constexpr std::uint32_t infinity = 0x7F80'0000;  // of a float32, as all constants here

// bfloat16 bits. Adding just under half of the last place that is kept carries exactly when the
// rest is more than half, or half and that place odd; the carry may run into the exponent and to
// infinity, which is what rounding up means there.
constexpr std::uint16_t bfloat16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x0040;
  return static_cast<std::uint16_t>((bits & ~sign_bit) > infinity ? quiet_nan : rounded);
}

constexpr float float_of_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// yes where the condition holds, no elsewhere, without a branch: all cases of a conversion are
// computed and one is chosen, so that the compiler can convert several elements at once.
constexpr std::uint32_t select(std::uint32_t holds, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0U - holds;
  return (yes & mask) | (no & ~mask);
}

// float16 bits.
constexpr std::uint16_t float16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~sign_bit;
  // Normal: exponents are biased by 127 there and by 15 here; 13 bits of the fraction are rounded
  // off as in bfloat16_of.
  const std::uint32_t normal = (magnitude - (112U << 23) + 0x0FFF + ((magnitude >> 13) & 1)) >> 13;
  // Subnormal: the last place of 0.5 + x is 2^-24, that of a subnormal half, so that this addition
  // rounds as it should. The result's fraction counts units of 2^-24.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t quiet_nan = 0x7E00 | ((magnitude >> 13) & 0x03FF);
  std::uint32_t half = select(magnitude < (113U << 23), subnormal, normal);
  half = select(magnitude >= (143U << 23), 0x7C00, half);  // 2^16 and above
  half = select(magnitude > infinity, quiet_nan, half);
  return static_cast<std::uint16_t>(half | ((bits & sign_bit) >> 16));
}

constexpr float float_of_float16(std::uint16_t bits) {
  const std::uint32_t moved = (bits & 0x7FFFU) << 13;
  const std::uint32_t normal = moved + (112U << 23);
  const std::uint32_t infinite_or_nan = moved + (224U << 23);
  // A subnormal's fraction behind an exponent of 2^-14 is 2^-14 too large.
  const float subnormal =
      std::bit_cast<float>(moved + (113U << 23)) - std::bit_cast<float>(113U << 23);
  std::uint32_t magnitude =
      select(moved < (1U << 23), std::bit_cast<std::uint32_t>(subnormal), normal);
  magnitude = select(moved >= (31U << 23), infinite_or_nan, magnitude);
  return std::bit_cast<float>(magnitude | ((bits & 0x8000U) << 16));
}

// A float that rounds to the half to which `value` itself would round: towards zero, but with an
// odd last bit when something was cut off. The odd bit keeps what is just beside a tie from
// becoming one. (Rounding to nearest twice would be wrong there.)
constexpr float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double back = nearest;
  if (back == value || value != value || (bits & 1) == 1) return nearest;
  const bool grew = (value < 0 ? -back : back) > (value < 0 ? -value : value);
  return std::bit_cast<float>(grew ? bits - 1 : bits + 1);
}

}  // namespace half

struct BFloat16 {
  std::uint16_t bits;

  BFloat16() = default;  // uninitialised, as a float is
  constexpr explicit BFloat16(float value) : bits(half::bfloat16_of(value)) {}
  constexpr explicit BFloat16(double value) : BFloat16(half::rounded_to_odd(value)) {}
  constexpr explicit BFloat16(std::integral auto value) : BFloat16(static_cast<double>(value)) {}
  // No loss, hence implicit: comparisons and sums of halves are those of floats.
  constexpr operator float() const { return half::float_of_bfloat16(bits); }
};

struct Float16 {
  std::uint16_t bits;

  Float16() = default;
  constexpr explicit Float16(float value) : bits(half::float16_of(value)) {}
  constexpr explicit Float16(double value) : Float16(half::rounded_to_odd(value)) {}
  constexpr explicit Float16(std::integral auto value) : Float16(static_cast<double>(value)) {}
  constexpr operator float() const { return half::float_of_float16(bits); }
};

static_assert(sizeof(BFloat16) == 2 && sizeof(Float16) == 2);

// to[i] = from[i].
//   Requires  the spans have one length and do not overlap
void convert(std::span<const float> from, std::span<BFloat16> to);
void convert(std::span<const float> from, std::span<Float16> to);
void convert(std::span<const BFloat16> from, std::span<float> to);
void convert(std::span<const Float16> from, std::span<float> to);

}  // namespace lockstep
