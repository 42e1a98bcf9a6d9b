// Makes a handler for 32 lanes of a function of one lane, and its entry in the table.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/paper/lanes/half.hpp"
#include "engine/paper/lanes/table.hpp"
#include "engine/paper/lanes/warp.hpp"

namespace lockstep::paper {

template <typename T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return Type::u8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return Type::u16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return Type::u32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return Type::u64;
  if constexpr (std::is_same_v<T, std::int8_t>) return Type::s8;
  if constexpr (std::is_same_v<T, std::int16_t>) return Type::s16;
  if constexpr (std::is_same_v<T, std::int32_t>) return Type::s32;
  if constexpr (std::is_same_v<T, std::int64_t>) return Type::s64;
  if constexpr (std::is_same_v<T, Half>) return Type::f16;
  if constexpr (std::is_same_v<T, BFloat>) return Type::bf16;
  if constexpr (std::is_same_v<T, Half2>) return Type::f16x2;
  if constexpr (std::is_same_v<T, BFloat2>) return Type::bf16x2;
  if constexpr (std::is_same_v<T, float>) return Type::f32;
  if constexpr (std::is_same_v<T, double>) return Type::f64;
}

template <typename... T>
struct TypeList {};
using Integers16To64 =
    TypeList<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;
using AllIntegers = TypeList<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
                             std::int32_t, std::uint64_t, std::int64_t>;
// Calls body.template operator()<T>() for each type.
template <typename... T, typename Body>
void for_types(TypeList<T...>, const Body& body) {
  (body.template operator()<T>(), ...);
}
template <typename T>
std::string suffix() {
  return std::string(name(type_of<T>()));
}

// d = F(a, b, ...) on the lanes that take part.
template <typename F, typename R, typename... A>
void apply(Warp& warp, const Instruction& instruction) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto* d = at<R>(warp, instruction.at[0]);
    if (warp.lanes == ~0U) {
      R result[warp_lanes];
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
        result[lane] = F{}(static_cast<A>(at<A>(warp, instruction.at[I + 1])[lane])...);
      }
      std::memcpy(d, result, sizeof result);
    } else {
      each_lane(warp.lanes, [&](std::uint32_t lane) {
        d[lane] = F{}(static_cast<A>(at<A>(warp, instruction.at[I + 1])[lane])...);
      });
    }
  }
  (std::index_sequence_for<A...>{});
}

// p = F(a, b, ...): a bit a lane.
template <typename F, typename... A>
std::uint32_t test_lanes(const Warp& warp, const Instruction& instruction, std::size_t first) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::uint32_t bits = 0;
#pragma GCC unroll 1
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
      const bool bit = F{}(static_cast<A>(at<A>(warp, instruction.at[first + I])[lane])...);
      bits |= std::uint32_t{bit} << lane;
    }
    return bits;
  }
  (std::index_sequence_for<A...>{});
}

inline Entry entry_of(Handler run, std::vector<Slot> slots, int flops = 0) {
  Entry entry;
  entry.run = run;
  entry.slots = std::move(slots);
  entry.flops = static_cast<std::uint8_t>(flops);
  return entry;
}

// Puts in `d = f(a...)` under a name.
template <typename R, typename... A, typename F>
void add_plain(Table& table, const std::string& name, F, int flops = 0, Form form = Form::plain) {
  Entry entry =
      entry_of(&apply<F, R, A...>,
               {{Role::destination, type_of<R>()}, {Role::source, type_of<A>()}...}, flops);
  entry.form = form;
  table.emplace(name, std::move(entry));
}

}  // namespace lockstep::paper
