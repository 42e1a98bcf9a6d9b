// Vector code that gives the same bits at every register width. A kernel is written once over a
// register of the processor; `vectorised` compiles it for the baseline, AVX2 and AVX-512 (16, 32
// and 64 bytes) and runs the one that it is told. Nothing is fused (-ffp-contract=off, set in
// CMake), and a sum keeps 64 bytes of partial sums whatever the registers' width, so the choice
// changes the speed and nothing else.
//
// A vector is never wider than a register: the compiler would take comparisons and choices apart,
// lane by lane. g++ refuses to (-Werror=vector-operation-performance, set in CMake).
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
#include <type_traits>

#include "engine/tensor/cpu/isa.hpp"

#define LOCKSTEP_INLINED __attribute__((always_inline))

namespace lockstep::vectors {

// How a body is told the width of its registers.
template <int bytes>
struct Registers {};

template <typename T, int bytes>
struct RegisterOf {
  typedef T type __attribute__((vector_size(bytes)));
};
template <typename T, int bytes>
using Register = typename RegisterOf<T, bytes>::type;
template <typename V>
using Element = std::remove_cvref_t<decltype(V{}[0])>;
template <typename V>
constexpr std::int64_t lanes_of = sizeof(V) / sizeof(Element<V>);

#if defined(__x86_64__)
template <typename Body>
[[gnu::target("avx2")]] void on_avx2(const Body& body) {
  body(Registers<32>{});
}
template <typename Body>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void on_avx512(const Body& body) {
  body(Registers<64>{});
}
#endif

// Runs `body`, a LOCKSTEP_INLINED lambda of Registers, compiled for `isa`.
template <typename Body>
void vectorised(kernels::Isa isa, const Body& body) {
#if defined(__x86_64__)
  if (isa == kernels::Isa::avx512) return on_avx512(body);
  if (isa == kernels::Isa::avx2) return on_avx2(body);
#endif
  static_cast<void>(isa);
  body(Registers<16>{});
}

template <typename V>
LOCKSTEP_INLINED inline V load(const Element<V>* from) {
  V x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
template <typename V>
LOCKSTEP_INLINED inline void store(Element<V>* to, V x) {
  std::memcpy(to, &x, sizeof x);
}
// Subtracted from: 0 + value would lose the sign of a zero.
template <typename V>
LOCKSTEP_INLINED inline V all(Element<V> value) {
  return value - V{};
}
template <int bytes, typename T>
LOCKSTEP_INLINED inline Register<T, bytes> all(Registers<bytes>, T value) {
  return all<Register<T, bytes>>(value);
}

// The first `count` < lanes elements; 0 in the other lanes.
template <typename V>
LOCKSTEP_INLINED inline V load_part(const Element<V>* from, std::int64_t count) {
  V x{};
  std::memcpy(&x, from, static_cast<std::size_t>(count) * sizeof(Element<V>));
  return x;
}
template <typename V>
LOCKSTEP_INLINED inline void store_part(Element<V>* to, V x, std::int64_t count) {
  std::memcpy(to, &x, static_cast<std::size_t>(count) * sizeof(Element<V>));
}

// to[i] = each(from[i]…) for i < count. `to` may be one of the operands.
template <int bytes, typename T, typename Each, typename... From>
LOCKSTEP_INLINED inline void map(Registers<bytes>, std::int64_t count, T* to, const Each& each,
                                 const From*... from) {
  using V = Register<T, bytes>;
  std::int64_t i = 0;
  for (; i + lanes_of<V> <= count; i += lanes_of<V>) store<V>(to + i, each(load<V>(from + i)...));
  if (i < count) {
    store_part<V>(to + i, each(load_part<V>(from + i, count - i)...), count - i);
  }
}

// `held` bytes of T in registers of `bytes`: one register, or two halves. The recursion leaves the
// compiler plain variables, which it keeps in registers; an array might stay in memory.
template <typename T, int bytes, int held = 64>
struct Lanes {
  Lanes<T, bytes, held / 2> low, high;
};
template <typename T, int bytes>
struct Lanes<T, bytes, bytes> {
  Register<T, bytes> lanes;
};
template <typename T>
constexpr std::int64_t width = 64 / static_cast<std::int64_t>(sizeof(T));

template <typename T, int bytes, int held>
LOCKSTEP_INLINED inline void set(Lanes<T, bytes, held>& x, T value) {
  if constexpr (held == bytes) {
    x.lanes = all<Register<T, bytes>>(value);
  } else {
    set(x.low, value);
    set(x.high, value);
  }
}

// The first `count` < width elements, and `rest`.
template <typename T>
struct Padded {
  LOCKSTEP_INLINED inline Padded(const T* from, std::int64_t count, T rest) {
    for (T& element : elements) element = rest;
    std::memcpy(elements, from, static_cast<std::size_t>(count) * sizeof(T));
  }
  alignas(64) T elements[width<T>];
};

// into = add(into, elements of `from`…), lane by lane.
template <typename T, int bytes, int held, typename Add, typename... From>
LOCKSTEP_INLINED inline void accumulate(Lanes<T, bytes, held>& into, const Add& add,
                                        const From*... from) {
  if constexpr (held == bytes) {
    into.lanes = add(into.lanes, load<Register<T, bytes>>(from)...);
  } else {
    accumulate(into.low, add, from...);
    accumulate(into.high, add, (from + held / 2 / static_cast<int>(sizeof(T)))...);
  }
}

// low = join(low, high), lane by lane.
template <typename T, int bytes, int held, typename Join>
LOCKSTEP_INLINED inline void join_halves(Lanes<T, bytes, held>& low,
                                         const Lanes<T, bytes, held>& high, const Join& join) {
  if constexpr (held == bytes) {
    low.lanes = join(low.lanes, high.lanes);
  } else {
    join_halves(low.low, high.low, join);
    join_halves(low.high, high.high, join);
  }
}

// The lanes joined to one: halves onto halves.
template <typename T, int bytes, int held, typename Join>
LOCKSTEP_INLINED inline T joined(Lanes<T, bytes, held> x, const Join& join) {
  if constexpr (held > bytes) {
    join_halves(x.low, x.high, join);
    return joined(x.low, join);
  } else if constexpr (bytes > 16) {
    Lanes<T, bytes / 2, bytes / 2> low, high;
    std::memcpy(&low, &x, sizeof low);
    std::memcpy(&high, reinterpret_cast<const char*>(&x) + sizeof low, sizeof high);
    low.lanes = join(low.lanes, high.lanes);
    return joined(low, join);
  } else if constexpr (sizeof(T) == 4) {
    return join(join(x.lanes[0], x.lanes[2]), join(x.lanes[1], x.lanes[3]));
  } else {
    return join(x.lanes[0], x.lanes[1]);
  }
}

// add(… add(first, from[0]…) …, from[count - 1]…) in `width` partial results, one a lane; lanes
// beyond the end see `rest`, and add must make nothing of it. Then the lanes joined.
template <int bytes, typename T, typename Add, typename Join, typename... From>
LOCKSTEP_INLINED inline T fold(Registers<bytes>, std::int64_t count, T first, T rest,
                               const Add& add, const Join& join, const From*... from) {
  Lanes<T, bytes> lanes;
  set(lanes, first);
  std::int64_t i = 0;
  for (; i + width<T> <= count; i += width<T>) accumulate(lanes, add, (from + i)...);
  if (i < count) accumulate(lanes, add, Padded<T>(from + i, count - i, rest).elements...);
  return joined(lanes, join);
}

// Σ each(from[i]…), where each must give 0 for `rest`.
template <int bytes, typename Each, typename T, typename... From>
LOCKSTEP_INLINED inline T sum_and_rest(Registers<bytes> registers, std::int64_t count, T rest,
                                       const Each& each, const T* from, const From*... more) {
  return fold(
      registers, count, T(0), rest,
      [&](auto total, auto... x) LOCKSTEP_INLINED { return total + each(x...); },
      [](auto a, auto b) LOCKSTEP_INLINED { return a + b; }, from, more...);
}
// The same, where each gives 0 for zeros.
template <int bytes, typename Each, typename T, typename... From>
LOCKSTEP_INLINED inline T sum(Registers<bytes> registers, std::int64_t count, const Each& each,
                              const T* from, const From*... more) {
  return sum_and_rest(registers, count, T(0), each, from, more...);
}

// The largest of `count` elements; -infinity of none.
template <int bytes, typename T>
LOCKSTEP_INLINED inline T largest(Registers<bytes> registers, std::int64_t count, const T* x) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  const auto larger = [](auto most, auto v) LOCKSTEP_INLINED { return v > most ? v : most; };
  return fold(registers, count, lowest, lowest, larger, larger, x);
}

// e^x; 0 below -87.3 (no subnormals), infinity above 88.7, NaN of NaN.
template <typename V>
LOCKSTEP_INLINED inline V exp_of_floats(V x) {
  using I = decltype(x < x);  // as many integers
  // x = n·ln 2 + r with |r| ≤ ln 2 / 2. Adding 1.5·2²³ rounds to an integer and leaves it in the
  // low bits; ln 2 is split so that n·(its first part) is exact.
  const V clamped = x < -88.0F ? all<V>(-88.0F) : (x > 89.0F ? all<V>(89.0F) : x);
  const V shifted = clamped * 1.44269504F + 12582912.0F;
  const V n = shifted - 12582912.0F;
  const V r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
  // Taylor's series to r⁷: the first term left out is below 6e-9 of the result.
  V p = all<V>(1.0F / 5040);
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
template <typename V>
LOCKSTEP_INLINED inline V exp(V x) {
  if constexpr (std::is_same_v<Element<V>, float>) {
    return exp_of_floats(x);
  } else {
    for (std::int64_t i = 0; i < lanes_of<V>; ++i) x[i] = std::exp(x[i]);
    return x;
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
    for (std::int64_t i = 0; i < lanes_of<V>; ++i) x[i] = std::tanh(x[i]);
    return x;
  }
}

// The C library's error function, lane by lane.
template <typename V>
LOCKSTEP_INLINED inline V erf(V x) {
  for (std::int64_t i = 0; i < lanes_of<V>; ++i) x[i] = std::erf(x[i]);
  return x;
}

}  // namespace lockstep::vectors
