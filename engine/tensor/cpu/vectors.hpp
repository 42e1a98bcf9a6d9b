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

// The first `count` < lanes elements, in pieces of fixed lengths: no call of memcpy.
template <std::int64_t lanes, typename T>
LOCKSTEP_INLINED inline void copy_part(const T* from, std::int64_t count, T* to) {
  if constexpr (lanes > 1) {
    constexpr std::int64_t half = lanes / 2;
    const bool more = (count & half) != 0;
    if (more) std::memcpy(to, from, half * sizeof(T));
    copy_part<half>(more ? from + half : from, count, more ? to + half : to);
  }
}
// The first `count` lanes; 0 in the others.
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

// to[i] = each(from[i]…) for i < count. `to` may be one of the operands. A long chain of
// instructions an element leaves the processor waiting: `at_once` registers go side by side then.
template <typename V, typename Each, typename... From>
LOCKSTEP_INLINED inline V each_at(std::int64_t i, const Each& each, const From*... from) {
  return each(load<V>(from + i)...);
}
template <int at_once = 1, int bytes, typename T, typename Each, typename... From>
LOCKSTEP_INLINED inline void map(Registers<bytes>, std::int64_t count, T* to, const Each& each,
                                 const From*... from) {
  using V = Register<T, bytes>;
  constexpr std::int64_t lanes = lanes_of<V>;
  std::int64_t i = 0;
  if constexpr (at_once > 1) {
    for (; i + at_once * lanes <= count; i += at_once * lanes) {
      [&]<std::int64_t... k>(std::integer_sequence<std::int64_t, k...>) LOCKSTEP_INLINED {
        const V y[] = {each_at<V>(i + k * lanes, each, from...)...};
        (store<V>(to + i + k * lanes, y[k]), ...);
      }
      (std::make_integer_sequence<std::int64_t, at_once>());
    }
  }
  for (; i + lanes <= count; i += lanes) store<V>(to + i, each_at<V>(i, each, from...));
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
  std::int64_t i = 0;
  for (; i + lanes_of<V> <= count; i += lanes_of<V>) {
    const Two<V> y = each(load<V>(from + i)...);
    store<V>(first + i, y.first);
    store<V>(second + i, y.second);
  }
  if (i < count) {
    const Two<V> y = each(load_part<V>(from + i, count - i)...);
    store_part<V>(first + i, y.first, count - i);
    store_part<V>(second + i, y.second, count - i);
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
    copy_part<width<T>>(from, count, elements);
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

// The same, where each result is also written to the elements of `to`.
template <typename T, int bytes, int held, typename Add, typename Each, typename... From>
LOCKSTEP_INLINED inline void accumulate_written(Lanes<T, bytes, held>& into, T* to, const Add& add,
                                                const Each& each, const From*... from) {
  if constexpr (held == bytes) {
    const auto y = each(load<Register<T, bytes>>(from)...);
    store<Register<T, bytes>>(to, y);
    into.lanes = add(into.lanes, y);
  } else {
    constexpr int half = held / 2 / static_cast<int>(sizeof(T));
    accumulate_written(into.low, to, add, each, from...);
    accumulate_written(into.high, to + half, add, each, (from + half)...);
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

// to[i] = each(from[i]…), and Σ to[i].
template <int bytes, typename T, typename Each, typename... From>
LOCKSTEP_INLINED inline T map_and_sum(Registers<bytes> registers, std::int64_t count, T* to,
                                      const Each& each, const From*... from) {
  const auto plus = [](auto a, auto b) LOCKSTEP_INLINED { return a + b; };
  Lanes<T, bytes> total;
  set(total, T(0));
  std::int64_t i = 0;
  for (; i + width<T> <= count; i += width<T>) {
    accumulate_written(total, to + i, plus, each, (from + i)...);
  }
  if (i < count) {
    T part[width<T>] = {};
    map(registers, count - i, part, each, (from + i)...);
    copy_part<width<T>>(part, count - i, to + i);
    accumulate(total, plus, part);
  }
  return joined(total, plus);
}

// Where the last whole vector ends that has one of the first `count` elements, or `count` where
// there is no room for it. Whoever has room in a row spares itself parts of vectors.
template <typename T>
constexpr std::int64_t whole(std::int64_t count, std::int64_t room) {
  const std::int64_t end = (count + width<T> - 1) / width<T> * width<T>;
  return end <= room ? end : count;
}
// x[i] = value from `count` to `end`, which is whole(count).
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

// The largest of `count` elements; -infinity of none.
template <int bytes, typename T>
LOCKSTEP_INLINED inline T largest(Registers<bytes> registers, std::int64_t count, const T* x) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  const auto larger = [](auto most, auto v) LOCKSTEP_INLINED { return v > most ? v : most; };
  return fold(registers, count, lowest, lowest, larger, larger, x);
}

}  // namespace lockstep::vectors
