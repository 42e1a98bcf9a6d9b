// Numbers as whole * 2^exponent, and their one rounding to a format: what PTX's floats are compared
// with. It is written in integers alone, so it shares nothing with the machine's arithmetic.
//
// Invariant: what was cut off below the lowest bit is kept as that bit, set ("jammed"); the bits
// kept are many more than any format has, so the rounding sees the exact value.
#pragma once

#include <cstdint>

namespace lockstep::paper::test {

__extension__ using Wide = __int128;
__extension__ using UWide = unsigned __int128;

struct Format {
  int digits = 0;         // of the significand, the hidden one too
  int exponent_bits = 0;  // binary32: 24 and 8
  int least() const { return 2 - (1 << (exponent_bits - 1)); }  // exponent of the least normal
  std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << (digits - 1);
  }
  std::uint64_t sign() const { return std::uint64_t{1} << (digits - 1 + exponent_bits); }
  std::uint64_t nan() const { return sign() - 1; }
};
inline constexpr Format binary16{11, 5}, bfloat16{8, 8}, binary32{24, 8}, binary64{53, 11};

enum class Mode { nearest, zero, down, up };

struct Exact {
  enum class What { finite, infinite, nan } what = What::finite;
  bool negative = false;
  UWide whole = 0;
  int exponent = 0;
  bool is_nan() const { return what == What::nan; }
  bool is_zero() const { return what == What::finite && whole == 0; }
};

Exact unpack(Format format, std::uint64_t bits);
std::uint64_t pack(Format format, const Exact& value, Mode mode = Mode::nearest);
Exact exact_of(Wide value);
// To a whole number, ties to even where the mode is nearest. Of finite values below 2^120 only.
Wide whole_of(const Exact& value, Mode mode);

Exact negated(Exact value);
Exact product(const Exact& a, const Exact& b);
// The mode decides the sign of a zero that comes of a + (-a).
Exact sum(const Exact& a, const Exact& b, Mode mode);
Exact quotient(const Exact& a, const Exact& b);
Exact root(const Exact& value);
// -1, 0, 1; 2 where one is no number.
int order(const Exact& a, const Exact& b);

}  // namespace lockstep::paper::test
