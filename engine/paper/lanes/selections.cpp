// selp and slct: one of two values.
#include <cmath>

#include "engine/paper/lanes/rounding.hpp"

namespace lockstep::paper {
namespace {

template <typename T>
void select(Warp& warp, const Instruction& instruction) {  // at: d, a, b, p
  const auto* a = at<T>(warp, instruction.at[1]);
  const auto* b = at<T>(warp, instruction.at[2]);
  const std::uint32_t bits = predicate(warp, instruction.at[3]);
  T result[warp_lanes];
  for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
    result[lane] = (bits >> lane & 1U) != 0 ? a[lane] : b[lane];
  }
  auto* d = at<T>(warp, instruction.at[0]);
  each_lane(warp.lanes, [&](std::uint32_t lane) { d[lane] = result[lane]; });
}

template <typename T>
void add_selection(Table& table, const std::string& s) {
  const Slot source{Role::source, type_of<T>()};
  table.emplace(
      "selp" + s,
      entry_of(&select<T>,
               {{Role::destination, type_of<T>()}, source, source, {Role::source, Type::pred}}));
  add_plain<T, T, T, std::int32_t>(table, "slct" + s + ".s32",
                                   [](T a, T b, std::int32_t c) { return c >= 0 ? a : b; });
  add_plain<T, T, T, float>(table, "slct" + s + ".f32",
                            [](T a, T b, float c) { return c >= 0 ? a : b; });
  add_plain<T, T, T, float>(table, "slct.ftz" + s + ".f32",
                            [](T a, T b, float c) { return flushed<Flush::yes>(c) >= 0 ? a : b; });
}

}  // namespace

void add_selections(Table& table) {
  for_types(Integers16To64{}, [&]<typename T>() {
    add_selection<T>(table, "." + suffix<T>());
    if (std::is_unsigned_v<T>) add_selection<T>(table, ".b" + std::to_string(8 * sizeof(T)));
  });
  add_selection<float>(table, ".f32");
  add_selection<double>(table, ".f64");
}

}  // namespace lockstep::paper
