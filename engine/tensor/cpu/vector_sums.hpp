// Sums and maxima of vectors (vectors.hpp). They keep 64 bytes of partial results, whatever a
// register holds, and join them halves onto halves: the same bits at every width.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/tensor/cpu/vectors.hpp"

namespace lockstep::vectors {

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
template <typename T, int bytes, int held>
LOCKSTEP_INLINED inline void set(Lanes<T, bytes, held>& x, T value) {
  if constexpr (held == bytes) {
    x.lanes = all<Register<T, bytes>>(value);
  } else {
    set(x.low, value);
    set(x.high, value);
  }
}

// Holds the first `count` < width elements, and `rest` in the other places.
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

// Joins the lanes to one, halves onto halves.
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
  using V = Register<T, bytes>;
  const auto plus = [](auto a, auto b) LOCKSTEP_INLINED { return a + b; };
  Lanes<T, bytes> total;
  set(total, T(0));
  constexpr std::int64_t group = 64 / bytes;  // registers
  std::int64_t i = 0;
  for (; i + 2 * width<T> <= count; i += 2 * width<T>) {
    map_block<V>(Block<2 * group>(), to + i, each, (from + i)...);
    accumulate(total, plus, to + i);
    accumulate(total, plus, to + i + width<T>);
  }
  if (i + width<T> <= count) {
    map_block<V>(Block<group>(), to + i, each, (from + i)...);
    accumulate(total, plus, to + i);
    i += width<T>;
  }
  if (i < count) {
    T part[width<T>] = {};
    map(registers, count - i, part, each, (from + i)...);
    copy_part<width<T>>(part, count - i, to + i);
    accumulate(total, plus, part);
  }
  return joined(total, plus);
}

// The largest of `count` elements; -infinity of none.
template <int bytes, typename T>
LOCKSTEP_INLINED inline T largest(Registers<bytes> registers, std::int64_t count, const T* x) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  const auto larger = [](auto most, auto v) LOCKSTEP_INLINED { return v > most ? v : most; };
  return fold(registers, count, lowest, lowest, larger, larger, x);
}

}  // namespace lockstep::vectors
