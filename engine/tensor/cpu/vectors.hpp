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
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "engine/tensor/cpu/isa.hpp"

#define LOCKSTEP_INLINED __attribute__((always_inline))

namespace lockstep::vectors {

// Tells a body the width of its registers.
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

// 0, 1, … in the lanes.
template <typename V>
constexpr auto places = [] {
  std::array<Element<V>, lanes_of<V>> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Element<V>>(i);
  return all;
}();

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

// Copies the first `count` < lanes elements in pieces of fixed lengths, without a call of memcpy.
template <std::int64_t lanes, typename T>
LOCKSTEP_INLINED inline void copy_part(const T* from, std::int64_t count, T* to) {
  if constexpr (lanes > 1) {
    constexpr std::int64_t half = lanes / 2;
    const bool more = (count & half) != 0;
    if (more) std::memcpy(to, from, half * sizeof(T));
    copy_part<half>(more ? from + half : from, count, more ? to + half : to);
  }
}
// Reads `count` elements into the first lanes; the others are 0.
template <typename V>
LOCKSTEP_INLINED inline V load_part(const Element<V>* from, std::int64_t count) {
  Element<V> part[lanes_of<V>] = {};
  copy_part<lanes_of<V>>(from, count, part);
  return load<V>(part);
}
template <typename V>
LOCKSTEP_INLINED inline void store_part(Element<V>* to, V x, std::int64_t count) {
  Element<V> part[lanes_of<V>];
  store<V>(part, x);
  copy_part<lanes_of<V>>(part, count, to);
}

template <typename V, typename Each, typename... From>
LOCKSTEP_INLINED inline auto each_at(std::int64_t i, const Each& each, const From*... from) {
  return each(load<V>(from + i)...);
}
// Maps as many registers as the sequence is long. All are computed before one is stored,
// so that their chains of instructions overlap although `to` may be one of the operands.
template <typename V, std::int64_t... k, typename Each, typename... From>
LOCKSTEP_INLINED inline void map_block(std::integer_sequence<std::int64_t, k...>, Element<V>* to,
                                       const Each& each, const From*... from) {
  const V y[] = {each_at<V>(k * lanes_of<V>, each, from...)...};
  (store<V>(to + k * lanes_of<V>, y[k]), ...);
}
template <std::int64_t registers>
using Block = std::make_integer_sequence<std::int64_t, registers>;

// to[i] = each(from[i]…) for i < count. `to` may be one of the operands. With a long chain of
// instructions an element, several registers `at_once` keep the processor busy.
template <std::int64_t at_once = 1, int bytes, typename T, typename Each, typename... From>
LOCKSTEP_INLINED inline void map(Registers<bytes>, std::int64_t count, T* to, const Each& each,
                                 const From*... from) {
  using V = Register<T, bytes>;
  constexpr std::int64_t lanes = lanes_of<V>;
  std::int64_t i = 0;
  if constexpr (at_once > 1) {
    for (; i + at_once * lanes <= count; i += at_once * lanes) {
      map_block<V>(Block<at_once>(), to + i, each, (from + i)...);
    }
  }
  for (; i + lanes <= count; i += lanes) map_block<V>(Block<1>(), to + i, each, (from + i)...);
  if (i < count) {
    store_part<V>(to + i, each(load_part<V>(from + i, count - i)...), count - i);
  }
}

// first[i] and second[i] = each(from[i]…).first and .second
template <typename V>
struct Two {
  V first, second;
};
template <int bytes, typename T, typename Each, typename... From>
LOCKSTEP_INLINED inline void map_to_two(Registers<bytes>, std::int64_t count, T* first, T* second,
                                        const Each& each, const From*... from) {
  using V = Register<T, bytes>;
  constexpr std::int64_t lanes = lanes_of<V>;
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const Two<V> a = each_at<V>(i, each, from...), b = each_at<V>(i + lanes, each, from...);
    store<V>(first + i, a.first);
    store<V>(second + i, a.second);
    store<V>(first + i + lanes, b.first);
    store<V>(second + i + lanes, b.second);
  }
  for (; i + lanes <= count; i += lanes) {
    const Two<V> y = each_at<V>(i, each, from...);
    store<V>(first + i, y.first);
    store<V>(second + i, y.second);
  }
  if (i < count) {
    const Two<V> y = each(load_part<V>(from + i, count - i)...);
    store_part<V>(first + i, y.first, count - i);
    store_part<V>(second + i, y.second, count - i);
  }
}

// `width` elements are 64 bytes.
template <typename T>
constexpr std::int64_t width = 64 / static_cast<std::int64_t>(sizeof(T));

// Rounds `count` up to whole vectors, if there is `room` for the last one. Kernels that have room
// in a row compute whole vectors, which is much faster than a part of one, and mask the end.
template <typename T>
constexpr std::int64_t whole(std::int64_t count, std::int64_t room) {
  const std::int64_t end = (count + width<T> - 1) / width<T> * width<T>;
  return end <= room ? end : count;
}
// Sets x[count] to x[end - 1], where `end` is whole(count).
template <int bytes, typename T>
LOCKSTEP_INLINED inline void fill_whole(Registers<bytes>, std::int64_t count, std::int64_t end,
                                        T value, T* x) {
  using V = Register<T, bytes>;
  if (end == count) return;
  for (std::int64_t i = end - width<T>; i < end; i += lanes_of<V>) {
    const V place = load<V>(places<V>.data()) + static_cast<T>(i), v = load<V>(x + i);
    store<V>(x + i, place < static_cast<T>(count) ? v : all<V>(value));
  }
}
template <int bytes, typename T>
LOCKSTEP_INLINED inline void fill(Registers<bytes>, std::int64_t count, T value, T* x) {
  using V = Register<T, bytes>;
  std::int64_t i = 0;
  for (; i + lanes_of<V> <= count; i += lanes_of<V>) store<V>(x + i, all<V>(value));
  for (; i < count; ++i) x[i] = value;
}

}  // namespace lockstep::vectors
