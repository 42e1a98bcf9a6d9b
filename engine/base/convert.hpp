// Elements of one type as elements of another. Every conversion goes through float64, which holds
// each element exactly (int64 up to 2^53), so that each is rounded once, to nearest even.
//
// An integer type takes what it can hold: a fraction is cut off towards zero, as a cast in C++ and
// in PyTorch does, but a NaN, an infinity or a value out of range is refused, where a cast would
// invent something.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/base/dtype.hpp"

namespace lockstep {

// True if an element of type T can hold `value` (for a floating-point T: always).
template <typename T>
bool fits(double value) {
  if constexpr (std::is_integral_v<T>) {
    // Both bounds are powers of two or zero, so exact in float64; a NaN compares false.
    const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const double whole = std::trunc(value);
    return whole >= static_cast<double>(std::numeric_limits<T>::min()) && whole < beyond;
  }
  return true;
}

[[noreturn]] void does_not_fit(double value, DType dtype);

// One element.   Throws  ContractError when it does not fit
template <typename T>
T element_of(double value) {
  if (!fits<T>(value)) does_not_fit(value, DTypeOf<T>::value);
  return static_cast<T>(value);
}

// to[i] = from[i], `count` elements.
//   Requires  the ranges do not overlap and are aligned for their types
//   Throws    ContractError when an element does not fit; elements before it are converted
void convert_elements(DType from_type, const std::byte* from, DType to_type, std::byte* to,
                      std::int64_t count);

}  // namespace lockstep
