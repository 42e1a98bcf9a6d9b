// exp and what is made of it, and the error function, on vectors (vectors.hpp). float32 by
// polynomials, within 3 units in the last place; float64 by the C library, lane by lane, whose last
// bit may depend on the processor.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/tensor/cpu/vectors.hpp"

namespace lockstep::vectors {

template <typename V, typename Function>
LOCKSTEP_INLINED inline V lane_by_lane(V x, const Function& function) {
  for (std::int64_t i = 0; i < lanes_of<V>; ++i) x[i] = function(x[i]);
  return x;
}

// e^x; 0 below -87.3 (no subnormals), infinity above 88.72, NaN of NaN.
template <typename V>
LOCKSTEP_INLINED inline V exp_of_floats(V x) {
  typedef std::uint32_t Bits __attribute__((vector_size(sizeof(V))));
  // x = n·ln 2 + r with |r| ≤ ln 2 / 2. Adding 1.5·2²³ rounds to an integer and leaves it in the
  // low bits; ln 2 is split so that n·(its first part) is exact.
  const V shifted = x * 1.44269504F + 12582912.0F;
  const V n = shifted - 12582912.0F;
  const V r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  // Taylor's series to r⁷: the first term left out is below 6e-9 of the result.
  V p = all<V>(1.0F / 5040);
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = ((p * r) * r + r) + 1;
  // Times 2ⁿ: n is added to the exponent, which holds it between the two bounds.
  Bits low, result_bits;
  std::memcpy(&low, &shifted, sizeof low);
  std::memcpy(&result_bits, &p, sizeof p);
  result_bits += low << 23;
  V result;
  std::memcpy(&result, &result_bits, sizeof result);
  constexpr float last = 88.7228317F;  // of the next float, e^x is infinite
  result = x <= last ? result : x + std::numeric_limits<float>::infinity();
  return x < -87.3F ? V{} : result;
}
template <typename V>
LOCKSTEP_INLINED inline V exp(V x) {
  if constexpr (std::is_same_v<Element<V>, float>) {
    return exp_of_floats(x);
  } else {
    return lane_by_lane(x, [](auto lane) LOCKSTEP_INLINED { return std::exp(lane); });
  }
}

// 1 / (1 + e⁻ˣ)
template <typename V>
LOCKSTEP_INLINED inline V sigmoid(V x) {
  return 1 / (1 + exp(-x));
}

// Near 0, where 1 - 2/(e²ˣ + 1) cancels, the odd series x - x³/3 + 2x⁵/15 - …, to x¹³.
template <typename V>
LOCKSTEP_INLINED inline V tanh_of_floats(V x) {
  const V s = x * x;
  V p = all<V>(21844.0F / 6081075);
  p = p * s - 1382.0F / 155925;
  p = p * s + 62.0F / 2835;
  p = p * s - 17.0F / 315;
  p = p * s + 2.0F / 15;
  p = p * s - 1.0F / 3;
  const V near = x + x * (s * p);
  const V far = 1 - 2 / (exp(x + x) + 1);
  return s < 0.16F ? near : far;
}
template <typename V>
LOCKSTEP_INLINED inline V tanh(V x) {
  if constexpr (std::is_same_v<Element<V>, float>) {
    return tanh_of_floats(x);
  } else {
    return lane_by_lane(x, [](auto lane) LOCKSTEP_INLINED { return std::tanh(lane); });
  }
}

// The C library's error function.
template <typename V>
LOCKSTEP_INLINED inline V erf(V x) {
  return lane_by_lane(x, [](auto lane) LOCKSTEP_INLINED { return std::erf(lane); });
}

}  // namespace lockstep::vectors
