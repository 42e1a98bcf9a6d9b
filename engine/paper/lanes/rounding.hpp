// Rounding, flushing and saturation of floats, as PTX's modifiers ask for them.
#pragma once

#include <array>
#include <cfenv>
#include <cmath>

#include "engine/paper/lanes/apply.hpp"

namespace lockstep::paper {

enum class Flush { no, yes };     // .ftz: subnormal numbers count as zero, before and after
enum class Saturate { no, yes };  // .sat: to [0, 1], and NaN to 0

template <Flush flush, typename T>
T flushed(T value) {
  if constexpr (flush == Flush::yes) {
    if (std::fpclassify(value) == FP_SUBNORMAL) return std::copysign(T{0}, value);
  }
  return value;
}
template <Saturate saturate, typename T>
T clamped(T value) {
  if constexpr (saturate == Saturate::yes) return value > 0 ? (value < 1 ? value : T{1}) : T{0};
  return value;
}

// The processor's rounding for as long as it lives. What is computed under it is read from memory
// after, and written before, a call that the compiler cannot look into: it cannot move.
template <Round round>
class Rounding {
 public:
  Rounding() {
    if constexpr (round != Round::nearest) {
      std::fesetround(round == Round::zero   ? FE_TOWARDZERO
                      : round == Round::down ? FE_DOWNWARD
                                             : FE_UPWARD);
    }
  }
  ~Rounding() {
    if constexpr (round != Round::nearest) std::fesetround(FE_TONEAREST);
  }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;
};

template <Round round, typename F, typename R, typename... A>
void apply_rounded(Warp& warp, const Instruction& instruction) {
  [[maybe_unused]] const Rounding<round> guard;
  apply<F, R, A...>(warp, instruction);
}

template <Round round, typename R, typename... A, typename F>
void add_rounded(Table& table, const std::string& name, F, int flops) {
  table.emplace(
      name, entry_of(&apply_rounded<round, F, R, A...>,
                     {{Role::destination, type_of<R>()}, {Role::source, type_of<A>()}...}, flops));
}

template <Round round>
constexpr const char* rounding_name() {
  return std::array{".rn", ".rz", ".rm", ".rp"}[static_cast<std::size_t>(round)];
}
// Calls body.template operator()<Round>() for each of the four.
template <typename Body>
void for_roundings(const Body& body) {
  body.template operator()<Round::nearest>();
  body.template operator()<Round::zero>();
  body.template operator()<Round::down>();
  body.template operator()<Round::up>();
}

}  // namespace lockstep::paper
