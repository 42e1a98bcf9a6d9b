// Comparing what a rank returned with what it should have: never fooled by a NaN, a wrong length or
// a missing result.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"
#include "engine/base/text.hpp"

namespace lockstep::grader {

// Elements of a raw buffer as doubles. int64 beyond 2^53 is compared by as_integers instead.
//   Throws  MalformedMessage, as as_integers does, when the last element is cut off
std::vector<double> as_doubles(DType dtype, std::span<const std::byte> bytes);
// The elements of several buffers, one after the other.
std::vector<double> as_doubles(DType dtype, const std::vector<Bytes>& buffers);
std::vector<std::int64_t> as_integers(std::span<const std::byte> bytes);
Bytes to_bytes(DType dtype, std::span<const double> values);

// The first index where |seen - expected| <= tolerance does not hold; an index equal to the shorter
// length when the lengths differ. What is not finite is right only where the same is expected: NaN
// for NaN, and infinity of the same sign.
std::optional<std::size_t> first_difference(std::span<const double> seen,
                                            std::span<const double> expected,
                                            std::span<const double> tolerance);

// True if a number is the expected one up to a few operations on double in any order, which move it
// by some 1e-16 of it each.
bool near(double seen, double expected);

// The first index where a and b differ in their bits or in their length. NaN equals NaN: which of
// its bits are set is up to the processor.
std::optional<std::size_t> first_other_bits(std::span<const double> a, std::span<const double> b);

// "0.1234567" with as many digits as tell neighbouring values apart: float32 if it is one, else
// float64. Whole numbers below 2^53 have all of theirs.
std::string number(double value);

// The same of a value that the dtype holds, or would: it has no more digits than the dtype.
std::string number(double value, DType dtype);

// The number at that place, or "nothing" behind the last one.
std::string number_at(std::span<const double> values, std::size_t at);
std::string number_at(std::span<const double> values, std::size_t at, DType dtype);

// "1,500,000,000": what a person can read of a large count.
std::string grouped(std::int64_t value);

// "[0, 4, 8]", or the first eight and how many there are: "[0, 4, …, 97 in all]".
template <typename T>
std::string listed(const std::vector<T>& values) {
  constexpr std::size_t shown = 8;
  std::string out = "[";
  for (std::size_t i = 0; i < std::min(values.size(), shown); ++i) {
    out += text(i ? ", " : "", values[i]);
  }
  if (values.size() > shown) out += text(", …, ", values.size(), " in all");
  return out + "]";
}

// Machine epsilon of a dtype, 0 for integers.
double epsilon_of(DType dtype);

}  // namespace lockstep::grader
