// atom and red: lane after lane, each as one step.
#include <algorithm>
#include <cstring>

#include "engine/paper/lanes/access.hpp"
#include "engine/paper/lanes/apply.hpp"

namespace lockstep::paper {
namespace {

enum class Answer { old, none };
enum class Values { one, two };  // beside the old one

// at: the address, the old value (atom), b (, c).
template <typename T, typename F, Space space, Answer answer, Values values>
void atomic(Warp& warp, const Instruction& instruction) {
  constexpr std::size_t first = answer == Answer::old ? 2 : 1;
  if (warp.block->counting) {
    count_request(warp, instruction, 0, space, sizeof(T));
    const auto lanes = static_cast<std::uint64_t>(__builtin_popcount(warp.lanes));
    warp.block->counters->atomics += lanes;
    warp.block->line->counters.atomics += lanes;
  }
  each_lane(warp.lanes, [&](std::uint32_t lane) {
    const std::uint64_t address = address_of(warp, instruction, 0, lane);
    std::byte* place = reach(warp, space, Touch::atomic, address, sizeof(T), lane);
    if (place == nullptr) return;
    T old;
    std::memcpy(&old, place, sizeof old);
    const T b = at<T>(warp, instruction.at[first])[lane];
    T fresh;
    if constexpr (values == Values::two)
      fresh = F{}(old, b, static_cast<T>(at<T>(warp, instruction.at[first + 1])[lane]));
    else
      fresh = F{}(old, b);
    std::memcpy(place, &fresh, sizeof fresh);
    if constexpr (answer == Answer::old) at<T>(warp, instruction.at[1])[lane] = old;
  });
}

template <typename T, typename F, Values values, Space space>
void add_in_space(Table& table, const std::string& where, const std::string& what) {
  const Slot source{Role::source, type_of<T>()};
  for (const char* order : {"", ".relaxed", ".acquire", ".release", ".acq_rel"}) {
    for (const char* scope : {"", ".cta", ".gpu", ".sys"}) {
      if (*order != '\0' && *scope == '\0') continue;  // an order names its scope
      const std::string begin = std::string(order) + scope;
      Entry entry =
          entry_of(&atomic<T, F, space, Answer::old, values>,
                   {{Role::address, Type::none}, {Role::destination, type_of<T>()}, source});
      if (values == Values::two) entry.slots.push_back(source);
      entry.form = Form::atomic;
      entry.space = space;
      // nvcc writes atom.global.cta.add, the manual atom.cta.global.add.
      table.emplace("atom" + begin + where + what, entry);
      table.emplace("atom" + where + begin + what, entry);
      if (values == Values::two || what.starts_with(".exch") || begin.starts_with(".ac"))
        continue;  // red reads nothing
      entry.run = &atomic<T, F, space, Answer::none, values>;
      entry.slots.erase(entry.slots.begin() + 1);
      entry.form = Form::reduce;
      table.emplace("red" + begin + where + what, entry);
      table.emplace("red" + where + begin + what, entry);
    }
  }
}

template <typename T, Values values = Values::one, typename F>
void add_atomic(Table& table, const std::string& what, F) {
  add_in_space<T, F, values, Space::generic>(table, "", what);
  add_in_space<T, F, values, Space::global>(table, ".global", what);
  add_in_space<T, F, values, Space::shared>(table, ".shared", what);
}

template <typename T>
void add_bitwise(Table& table, const std::string& s) {
  add_atomic<T>(table, ".and" + s, [](T a, T b) { return static_cast<T>(a & b); });
  add_atomic<T>(table, ".or" + s, [](T a, T b) { return static_cast<T>(a | b); });
  add_atomic<T>(table, ".xor" + s, [](T a, T b) { return static_cast<T>(a ^ b); });
  add_atomic<T>(table, ".exch" + s, [](T, T b) { return b; });
}

template <typename T>
void add_extremes_of(Table& table) {
  add_atomic<T>(table, ".min." + suffix<T>(), [](T a, T b) { return std::min(a, b); });
  add_atomic<T>(table, ".max." + suffix<T>(), [](T a, T b) { return std::max(a, b); });
}

// Halves are added by PTX that says .noftz; the sum is rounded to nearest.
template <typename H>
H sum_of_halves(H a, H b) {
  const double sum = fused_to_odd(1.0, to_float(a), to_float(b));
  if constexpr (std::is_same_v<H, Half>)
    return half_of(sum);
  else
    return bfloat_of(sum);
}

}  // namespace

void add_atomics(Table& table) {
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  const auto compare = []<typename T>(T old, T expected, T fresh) {
    return old == expected ? fresh : old;
  };
  add_atomic<std::uint16_t, Values::two>(table, ".cas.b16", compare);
  add_atomic<U32, Values::two>(table, ".cas.b32", compare);
  add_atomic<U64, Values::two>(table, ".cas.b64", compare);
  add_bitwise<U32>(table, ".b32");
  add_bitwise<U64>(table, ".b64");
  add_atomic<U32>(table, ".add.u32", [](U32 a, U32 b) { return a + b; });
  add_atomic<U32>(table, ".add.s32", [](U32 a, U32 b) { return a + b; });
  add_atomic<U64>(table, ".add.u64", [](U64 a, U64 b) { return a + b; });
  add_atomic<float>(table, ".add.f32", [](float a, float b) { return a + b; });
  add_atomic<double>(table, ".add.f64", [](double a, double b) { return a + b; });
  add_atomic<U32>(table, ".inc.u32", [](U32 a, U32 b) { return a >= b ? 0 : a + 1; });
  add_atomic<U32>(table, ".dec.u32", [](U32 a, U32 b) { return a == 0 || a > b ? b : a - 1; });
  add_extremes_of<U32>(table);
  add_extremes_of<std::int32_t>(table);
  add_extremes_of<U64>(table);
  add_extremes_of<std::int64_t>(table);
  add_atomic<Half>(table, ".add.noftz.f16", [](Half a, Half b) { return sum_of_halves(a, b); });
  add_atomic<Half2>(table, ".add.noftz.f16x2", [](Half2 a, Half2 b) {
    return Half2{sum_of_halves(a.lo, b.lo), sum_of_halves(a.hi, b.hi)};
  });
}

}  // namespace lockstep::paper
