// float and double: what IEEE 754 defines, in each rounding.
#include <bit>
#include <limits>

#include "engine/paper/lanes/rounding.hpp"

namespace lockstep::paper {
namespace {

template <typename T>
T not_a_number() {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(0x7FFFFFFFU);
  else
    return std::bit_cast<double>(0x7FFFFFFFFFFFFFFFULL);
}

// Arithmetic of floats has one NaN; that of doubles hands on the bits of its operand's, as the
// host's.
template <typename T, Flush flush, Saturate saturate = Saturate::no>
T finish(T value) {
  if (sizeof(T) == 4 && std::isnan(value)) value = not_a_number<T>();
  return clamped<saturate>(flushed<flush>(value));
}

template <typename T, Round round, Flush flush, Saturate saturate>
void add_sums(Table& table, const std::string& rounding, const std::string& s) {
  add_rounded<round, T, T, T>(
      table, "add" + rounding + s,
      [](T a, T b) { return finish<T, flush, saturate>(flushed<flush>(a) + flushed<flush>(b)); },
      1);
  add_rounded<round, T, T, T>(
      table, "sub" + rounding + s,
      [](T a, T b) { return finish<T, flush, saturate>(flushed<flush>(a) - flushed<flush>(b)); },
      1);
  add_rounded<round, T, T, T>(
      table, "mul" + rounding + s,
      [](T a, T b) { return finish<T, flush, saturate>(flushed<flush>(a) * flushed<flush>(b)); },
      1);
  if (rounding.empty()) return;  // fma says how it rounds
  for (const char* fused : {"fma", "mad"}) {
    add_rounded<round, T, T, T, T>(
        table, fused + rounding + s,
        [](T a, T b, T c) {
          return finish<T, flush, saturate>(
              std::fma(flushed<flush>(a), flushed<flush>(b), flushed<flush>(c)));
        },
        2);
  }
}

template <typename T, Round round, Flush flush>
void add_quotients(Table& table, const std::string& rounding, const std::string& s) {
  add_rounded<round, T, T, T>(
      table, "div" + rounding + s,
      [](T a, T b) { return finish<T, flush>(flushed<flush>(a) / flushed<flush>(b)); }, 1);
  add_rounded<round, T, T>(
      table, "rcp" + rounding + s, [](T a) { return finish<T, flush>(1 / flushed<flush>(a)); }, 1);
  add_rounded<round, T, T>(
      table, "sqrt" + rounding + s,
      [](T a) { return finish<T, flush>(std::sqrt(flushed<flush>(a))); }, 1);
}

enum class NaN { lost, kept };
template <typename T, NaN nan>
T least(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) {
    if (nan == NaN::kept || (std::isnan(a) && std::isnan(b))) return not_a_number<T>();
    return std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) ? a : b;  // -0 is less than +0
  return a < b ? a : b;
}
template <typename T, NaN nan>
T greatest(T a, T b) {
  return -least<T, nan>(-a, -b);
}

template <typename T, Flush flush, NaN nan>
void add_extremes(Table& table, const std::string& s) {
  add_plain<T, T, T>(
      table, "min" + s,
      [](T a, T b) { return least<T, nan>(flushed<flush>(a), flushed<flush>(b)); }, 1);
  add_plain<T, T, T>(
      table, "max" + s,
      [](T a, T b) {
        if (std::isnan(a) && std::isnan(b)) return not_a_number<T>();
        if (nan == NaN::kept && (std::isnan(a) || std::isnan(b))) return not_a_number<T>();
        return greatest<T, nan>(flushed<flush>(a), flushed<flush>(b));
      },
      1);
}

template <typename T, Flush flush>
void add_signs(Table& table, const std::string& s) {
  add_plain<T, T>(table, "abs" + s, [](T a) { return std::abs(flushed<flush>(a)); });
  add_plain<T, T>(table, "neg" + s, [](T a) { return -flushed<flush>(a); });
}

template <typename T>
void add_copysign(Table& table, const std::string& s) {  // d = the magnitude of b with a's sign
  add_plain<T, T, T>(table, "copysign" + s, [](T a, T b) { return std::copysign(b, a); });
}

template <typename T, typename F>
void test_class(Warp& warp, const Instruction& instruction) {
  set_predicate(warp, instruction.at[0], test_lanes<F, T>(warp, instruction, 1));
}
template <typename T, typename F>
void add_class(Table& table, const std::string& what, F) {
  table.emplace(
      "testp." + what + "." + suffix<T>(),
      entry_of(&test_class<T, F>, {{Role::destination, Type::pred}, {Role::source, type_of<T>()}}));
}
template <typename T>
void add_classes(Table& table) {
  add_class<T>(table, "finite", [](T a) { return std::isfinite(a); });
  add_class<T>(table, "infinite", [](T a) { return std::isinf(a); });
  add_class<T>(table, "number", [](T a) { return !std::isnan(a); });
  add_class<T>(table, "notanumber", [](T a) { return std::isnan(a); });
  add_class<T>(table, "normal", [](T a) { return std::isnormal(a); });
  add_class<T>(table, "subnormal", [](T a) { return std::fpclassify(a) == FP_SUBNORMAL; });
}

template <Round round>
void add_round(Table& table, const std::string& rounding) {
  add_sums<float, round, Flush::no, Saturate::no>(table, rounding, ".f32");
  add_sums<float, round, Flush::yes, Saturate::no>(table, rounding, ".ftz.f32");
  add_sums<float, round, Flush::no, Saturate::yes>(table, rounding, ".sat.f32");
  add_sums<float, round, Flush::yes, Saturate::yes>(table, rounding, ".ftz.sat.f32");
  add_sums<double, round, Flush::no, Saturate::no>(table, rounding, ".f64");
}

}  // namespace

void add_floats(Table& table) {
  add_round<Round::nearest>(table, "");
  for_roundings([&]<Round round>() {
    const std::string name = rounding_name<round>();
    add_round<round>(table, name);
    add_quotients<float, round, Flush::no>(table, name, ".f32");
    add_quotients<float, round, Flush::yes>(table, name, ".ftz.f32");
    add_quotients<double, round, Flush::no>(table, name, ".f64");
  });
  add_extremes<float, Flush::no, NaN::lost>(table, ".f32");
  add_extremes<float, Flush::yes, NaN::lost>(table, ".ftz.f32");
  add_extremes<float, Flush::no, NaN::kept>(table, ".NaN.f32");
  add_extremes<float, Flush::yes, NaN::kept>(table, ".ftz.NaN.f32");
  add_extremes<double, Flush::no, NaN::lost>(table, ".f64");
  add_signs<float, Flush::no>(table, ".f32");
  add_signs<float, Flush::yes>(table, ".ftz.f32");
  add_signs<double, Flush::no>(table, ".f64");
  add_copysign<float>(table, ".f32");
  add_copysign<double>(table, ".f64");
  add_classes<float>(table);
  add_classes<double>(table);
}

}  // namespace lockstep::paper
