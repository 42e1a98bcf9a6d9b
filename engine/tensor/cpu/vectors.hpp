// Vector code that gives the same bits at every register width. A kernel is written once over
// vectors of 64 bytes; `vectorised` compiles it for the baseline, AVX2 and AVX-512 and picks one at
// run time. Nothing is fused (-ffp-contract=off, set in CMake), and sums keep one partial sum a
// lane whatever the registers' width, so the choice changes the speed and nothing else.
//
// Everything here is inlined into the body that `vectorised` is given: a function that is not
// would be compiled for the baseline. Private to the tensor room's kernels.
//
// exp, tanh and what is made of them: float32 by polynomials, within 3 units in the last place;
// float64 by the C library, lane by lane, whose last bit may depend on the processor.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#define LOCKSTEP_INLINED __attribute__((always_inline))

namespace lockstep::vectors {

template <typename T>
struct LanesOf;
template <>
struct LanesOf<float> {
  typedef float type __attribute__((vector_size(64)));
  typedef std::int32_t integers __attribute__((vector_size(64)));
};
template <>
struct LanesOf<double> {
  typedef double type __attribute__((vector_size(64)));
  typedef std::int64_t integers __attribute__((vector_size(64)));
};
template <typename T>
using Lanes = typename LanesOf<T>::type;
template <typename T>
constexpr std::int64_t width = 64 / static_cast<std::int64_t>(sizeof(T));

#if defined(__x86_64__)
template <typename Body>
[[gnu::target("avx2")]] void on_avx2(const Body& body) {
  body();
}
template <typename Body>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void on_avx512(const Body& body) {
  body();
}
#endif

// Runs `body`, a LOCKSTEP_INLINED lambda, compiled for this processor's vectors.
template <typename Body>
void vectorised(const Body& body) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return on_avx512(body);
  }
  if (__builtin_cpu_supports("avx2")) return on_avx2(body);
#endif
  body();
}

template <typename T>
LOCKSTEP_INLINED inline Lanes<T> load(const T* from) {
  Lanes<T> lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
template <typename T>
LOCKSTEP_INLINED inline void store(T* to, Lanes<T> lanes) {
  std::memcpy(to, &lanes, sizeof lanes);
}
template <typename T>
LOCKSTEP_INLINED inline Lanes<T> all(T value) {
  return Lanes<T>{} + value;
}
// The first `count` < width elements; `rest` in the other lanes.
template <typename T>
LOCKSTEP_INLINED inline Lanes<T> load_part(const T* from, std::int64_t count, T rest = T(0)) {
  Lanes<T> lanes = all(rest);
  std::memcpy(&lanes, from, static_cast<std::size_t>(count) * sizeof(T));
  return lanes;
}
template <typename T>
LOCKSTEP_INLINED inline void store_part(T* to, Lanes<T> lanes, std::int64_t count) {
  std::memcpy(to, &lanes, static_cast<std::size_t>(count) * sizeof(T));
}

// to[i] = each(from[i]…) for i < count. `to` may be one of the operands.
template <typename T, typename Each, typename... From>
LOCKSTEP_INLINED inline void map(std::int64_t count, T* to, const Each& each, const From*... from) {
  std::int64_t i = 0;
  for (; i + width<T> <= count; i += width<T>) store<T>(to + i, each(load<T>(from + i)...));
  if (i < count) store_part<T>(to + i, each(load_part<T>(from + i, count - i)...), count - i);
}

// Σ each(from[i]…): a partial sum a lane, then the lanes pairwise, halves onto halves. Lanes beyond
// the end see zeros; each must give 0 for them.
template <typename T>
LOCKSTEP_INLINED inline T sum_of(Lanes<T> lanes) {
  for (std::int64_t half = width<T> / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}
template <typename T>
LOCKSTEP_INLINED inline T largest_of(Lanes<T> lanes) {
  T largest = lanes[0];
  for (std::int64_t i = 1; i < width<T>; ++i) largest = lanes[i] > largest ? lanes[i] : largest;
  return largest;
}
template <typename T, typename Each, typename... From>
LOCKSTEP_INLINED inline T sum(std::int64_t count, const Each& each, const From*... from) {
  Lanes<T> total{};
  std::int64_t i = 0;
  for (; i + width<T> <= count; i += width<T>) total += each(load<T>(from + i)...);
  if (i < count) total += each(load_part<T>(from + i, count - i)...);
  return sum_of<T>(total);
}

// The largest of `count` elements; -infinity of none.
template <typename T>
LOCKSTEP_INLINED inline T largest(std::int64_t count, const T* x) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  Lanes<T> most = all(lowest);
  std::int64_t i = 0;
  for (; i + width<T> <= count; i += width<T>) {
    const auto v = load<T>(x + i);
    most = v > most ? v : most;
  }
  if (i < count) {
    const auto v = load_part<T>(x + i, count - i, lowest);
    most = v > most ? v : most;
  }
  return largest_of<T>(most);
}

// e^x; 0 below -87.3 (no subnormals), infinity above 88.7, NaN of NaN.
LOCKSTEP_INLINED inline Lanes<float> exp(Lanes<float> x) {
  using V = Lanes<float>;
  using I = LanesOf<float>::integers;
  // x = n·ln 2 + r with |r| ≤ ln 2 / 2. Adding 1.5·2²³ rounds to an integer and leaves it in the
  // low bits; ln 2 is split so that n·(its first part) is exact.
  const V clamped = x < -88.0F ? all(-88.0F) : (x > 89.0F ? all(89.0F) : x);
  const V shifted = clamped * 1.44269504F + 12582912.0F;
  const V n = shifted - 12582912.0F;
  const V r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
  // Taylor's series to r⁷: the first term left out is below 6e-9 of the result.
  V p = all(1.0F / 5040);
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = (p * r) * r + r;  // e^r - 1
  I bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  // 2ⁿ in two factors: n reaches 128, which one exponent field does not hold.
  const I power = bits - 0x4B400000;
  const I half = power >> 1;
  const I low = (half + 127) << 23, high = (power - half + 127) << 23;
  V scale_low, scale_high;
  std::memcpy(&scale_low, &low, sizeof low);
  std::memcpy(&scale_high, &high, sizeof high);
  const V result = (p * scale_low + scale_low) * scale_high;
  return x < -87.3F ? V{} : (x != x ? x : result);
}
LOCKSTEP_INLINED inline Lanes<double> exp(Lanes<double> x) {
  for (std::int64_t i = 0; i < width<double>; ++i) x[i] = std::exp(x[i]);
  return x;
}

// 1 / (1 + e⁻ˣ)
template <typename V>
LOCKSTEP_INLINED inline V sigmoid(V x) {
  return 1 / (1 + exp(-x));
}

// Near 0, where 1 - 2/(e²ˣ + 1) cancels, the odd series x - x³/3 + 2x⁵/15 - …, to x¹³.
LOCKSTEP_INLINED inline Lanes<float> tanh(Lanes<float> x) {
  using V = Lanes<float>;
  const V s = x * x;
  V p = all(21844.0F / 6081075);
  p = p * s - 1382.0F / 155925;
  p = p * s + 62.0F / 2835;
  p = p * s - 17.0F / 315;
  p = p * s + 2.0F / 15;
  p = p * s - 1.0F / 3;
  const V near = x + x * (s * p);
  const V far = 1 - 2 / (exp(x + x) + 1);
  return s < 0.16F ? near : far;
}
LOCKSTEP_INLINED inline Lanes<double> tanh(Lanes<double> x) {
  for (std::int64_t i = 0; i < width<double>; ++i) x[i] = std::tanh(x[i]);
  return x;
}

// The C library's error function and square root, lane by lane.
template <typename T>
LOCKSTEP_INLINED inline Lanes<T> erf(Lanes<T> x) {
  for (std::int64_t i = 0; i < width<T>; ++i) x[i] = std::erf(x[i]);
  return x;
}
template <typename T>
LOCKSTEP_INLINED inline Lanes<T> square_root(Lanes<T> x) {
  for (std::int64_t i = 0; i < width<T>; ++i) x[i] = std::sqrt(x[i]);
  return x;
}

}  // namespace lockstep::vectors
