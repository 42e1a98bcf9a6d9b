// 16-bit floats, one or two in a register. Results are rounded once, from double.
#include <type_traits>

#include "engine/paper/lanes/rounding.hpp"

namespace lockstep::paper {
namespace {

template <typename H>
H narrow(double value) {
  if constexpr (std::is_same_v<H, Half>)
    return half_of(value);
  else
    return bfloat_of(value);
}
template <typename H>
constexpr double smallest_normal = std::is_same_v<H, Half> ? 0x1p-14 : 0x1p-126;

enum class Relu { no, yes };  // a negative result counts as 0

template <typename H, Flush flush>
double flush_input(H value) {
  const double number = to_float(value);
  if (flush == Flush::yes && std::abs(number) < smallest_normal<H>)
    return std::copysign(0.0, number);
  return number;
}
template <typename H, Flush flush, Saturate saturate, Relu relu>
H round_result(double value) {
  const H rounded_value = narrow<H>(clamped<saturate>(value));
  const double number = to_float(rounded_value);
  if (relu == Relu::yes && number <= 0) return H{};
  if (flush == Flush::yes && std::abs(number) < smallest_normal<H>) {
    return narrow<H>(std::copysign(0.0, number));
  }
  return rounded_value;
}

template <typename H>
using Pair = std::conditional_t<std::is_same_v<H, Half>, Half2, BFloat2>;

// The same function for one half, and for the two of a pair.
template <typename H, typename... A, typename F>
void add_both(Table& table, const std::string& name, F, int flops) {
  const std::string s = "." + suffix<H>();
  add_plain<H, A...>(table, name + s, F{}, flops);
  if constexpr (sizeof...(A) == 1) {
    add_plain<Pair<H>, Pair<H>>(
        table, name + s + "x2",
        [](Pair<H> a) {
          return Pair<H>{F{}(a.lo), F{}(a.hi)};
        },
        2 * flops);
  } else if constexpr (sizeof...(A) == 2) {
    add_plain<Pair<H>, Pair<H>, Pair<H>>(
        table, name + s + "x2",
        [](Pair<H> a, Pair<H> b) {
          return Pair<H>{F{}(a.lo, b.lo), F{}(a.hi, b.hi)};
        },
        2 * flops);
  } else {
    add_plain<Pair<H>, Pair<H>, Pair<H>, Pair<H>>(
        table, name + s + "x2",
        [](Pair<H> a, Pair<H> b, Pair<H> c) {
          return Pair<H>{F{}(a.lo, b.lo, c.lo), F{}(a.hi, b.hi, c.hi)};
        },
        2 * flops);
  }
}

template <typename H, Flush flush, Saturate saturate>
void add_half_sums(Table& table, const std::string& modifiers) {
  const auto put = [&](const std::string& name, auto f) {
    add_both<H, H, H>(table, name + modifiers, f, 1);
    add_both<H, H, H>(table, name + ".rn" + modifiers, f, 1);
  };
  put("add", [](H a, H b) {
    return round_result<H, flush, saturate, Relu::no>(
        fused_to_odd(1.0, flush_input<H, flush>(a), flush_input<H, flush>(b)));
  });
  put("sub", [](H a, H b) {
    return round_result<H, flush, saturate, Relu::no>(
        fused_to_odd(1.0, flush_input<H, flush>(a), -flush_input<H, flush>(b)));
  });
  put("mul", [](H a, H b) {
    return round_result<H, flush, saturate, Relu::no>(flush_input<H, flush>(a) *
                                                      flush_input<H, flush>(b));
  });
}

template <typename H, Flush flush, Saturate saturate, Relu relu>
void add_half_fused(Table& table, const std::string& modifiers) {
  add_both<H, H, H, H>(
      table, "fma.rn" + modifiers,
      [](H a, H b, H c) {
        return round_result<H, flush, saturate, relu>(fused_to_odd(
            flush_input<H, flush>(a), flush_input<H, flush>(b), flush_input<H, flush>(c)));
      },
      2);
}

template <typename H>
bool nan_of(H value) {
  return std::isnan(to_float(value));
}

enum class NanRule { ignore, propagate };
enum class Wanted { least, greatest };
template <typename H, Flush flush, NanRule nan, Wanted wanted>
void add_half_extreme(Table& table, const std::string& name) {
  add_both<H, H, H>(
      table, name,
      [](H a, H b) {
        if (nan_of(a) || nan_of(b)) {
          return nan == NanRule::propagate || (nan_of(a) && nan_of(b)) ? H{0x7FFF}
                 : nan_of(a)                                           ? b
                                                                       : a;
        }
        const double x = flush_input<H, flush>(a), y = flush_input<H, flush>(b);
        const bool a_less = x < y || (x == y && std::signbit(x));
        return narrow<H>(a_less == (wanted == Wanted::least) ? x : y);
      },
      1);
}

template <typename H, Flush flush>
void add_half_extremes(Table& table, const std::string& ftz) {
  add_half_extreme<H, flush, NanRule::ignore, Wanted::least>(table, "min" + ftz);
  add_half_extreme<H, flush, NanRule::ignore, Wanted::greatest>(table, "max" + ftz);
  add_half_extreme<H, flush, NanRule::propagate, Wanted::least>(table, "min" + ftz + ".NaN");
  add_half_extreme<H, flush, NanRule::propagate, Wanted::greatest>(table, "max" + ftz + ".NaN");
}

template <typename H>
void add_half_signs(Table& table) {
  add_both<H, H>(
      table, "neg", [](H a) { return H{static_cast<std::uint16_t>(a.bits ^ 0x8000)}; }, 0);
  add_both<H, H>(
      table, "abs", [](H a) { return H{static_cast<std::uint16_t>(a.bits & 0x7FFF)}; }, 0);
}

}  // namespace

void add_halves(Table& table) {
  add_half_sums<Half, Flush::no, Saturate::no>(table, "");
  add_half_sums<Half, Flush::yes, Saturate::no>(table, ".ftz");
  add_half_sums<Half, Flush::no, Saturate::yes>(table, ".sat");
  add_half_sums<Half, Flush::yes, Saturate::yes>(table, ".ftz.sat");
  add_half_fused<Half, Flush::no, Saturate::no, Relu::no>(table, "");
  add_half_fused<Half, Flush::yes, Saturate::no, Relu::no>(table, ".ftz");
  add_half_fused<Half, Flush::no, Saturate::yes, Relu::no>(table, ".sat");
  add_half_fused<Half, Flush::yes, Saturate::yes, Relu::no>(table, ".ftz.sat");
  add_half_fused<Half, Flush::no, Saturate::no, Relu::yes>(table, ".relu");
  add_half_fused<Half, Flush::yes, Saturate::no, Relu::yes>(table, ".ftz.relu");
  add_half_fused<BFloat, Flush::no, Saturate::no, Relu::no>(table, "");
  add_half_fused<BFloat, Flush::no, Saturate::no, Relu::yes>(table, ".relu");
  add_half_extremes<Half, Flush::no>(table, "");
  add_half_extremes<Half, Flush::yes>(table, ".ftz");
  add_half_extremes<BFloat, Flush::no>(table, "");
  add_half_signs<Half>(table);
  add_half_signs<BFloat>(table);
}

}  // namespace lockstep::paper
