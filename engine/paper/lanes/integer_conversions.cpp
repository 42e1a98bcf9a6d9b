// cvt to and from whole numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/paper/lanes/rounding.hpp"

namespace lockstep::paper {
namespace {

template <typename To, typename From>
To clipped(From value) {  // .sat: to the nearest value that `To` has
  if (std::cmp_less(value, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (std::cmp_greater(value, std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <typename To, typename From>
void add_whole(Table& table) {
  const std::string types = "." + suffix<To>() + "." + suffix<From>();
  add_plain<To, From>(
      table, "cvt" + types, [](From a) { return static_cast<To>(a); }, 0, Form::convert);
  using T = std::numeric_limits<To>;
  using F = std::numeric_limits<From>;
  if (std::cmp_greater_equal(F::min(), T::min()) && std::cmp_less_equal(F::max(), T::max())) {
    return;  // nothing to clip: PTX has no .sat there
  }
  add_plain<To, From>(
      table, "cvt.sat" + types, [](From a) { return clipped<To>(a); }, 0, Form::convert);
}

template <Round round, typename From>
void add_from_whole(Table& table) {
  const std::string r = std::string("cvt") + rounding_name<round>();
  const std::string s = "." + suffix<From>();
  const auto put = [&]<typename To, typename F>(const std::string& to, F) {
    Entry entry = entry_of(&apply_rounded<round, F, To, From>,
                           {{Role::destination, type_of<To>()}, {Role::source, type_of<From>()}});
    entry.form = Form::convert;
    table.emplace(r + to + s, std::move(entry));
  };
  put.template operator()<float>(".f32", [](From a) { return static_cast<float>(a); });
  put.template operator()<double>(".f64", [](From a) { return static_cast<double>(a); });
  // A number past 2^53 is infinite or the largest half in any case.
  add_plain<Half, From>(
      table, r + ".f16" + s, [](From a) { return half_of(static_cast<double>(a), round); }, 0,
      Form::convert);
}

template <Round round, typename F>
F to_whole(F value) {
  return round == Round::nearest ? std::nearbyint(value)
         : round == Round::zero  ? std::trunc(value)
         : round == Round::down  ? std::floor(value)
                                 : std::ceil(value);
}

// Outside of the range: the nearest end. NaN: 0, where 64 bits take part the number with the sign
// bit alone.
template <typename To, Round round, typename F>
To whole(F value) {
  if (std::isnan(value)) {
    const bool wide = sizeof(F) == 8 || sizeof(To) == 8;
    return wide ? static_cast<To>(std::uint64_t{1} << (8 * sizeof(To) - 1)) : To{0};
  }
  const F result = to_whole<round>(value);
  const F end = std::ldexp(F{1}, std::numeric_limits<To>::digits);  // exact, unlike max()
  if (result >= end) return std::numeric_limits<To>::max();
  if (result < static_cast<F>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  return static_cast<To>(result);
}

template <typename From>
auto float_or_double(From value) {
  if constexpr (std::is_same_v<From, Half>)
    return to_float(value);
  else
    return value;
}

template <typename To, typename From, Round round>
void add_to_whole(Table& table) {
  const std::string r = std::string("cvt") + rounding_name<round>() + "i";
  const std::string types = "." + suffix<To>() + "." + suffix<From>();
  const auto f = [](From a) { return whole<To, round>(float_or_double(a)); };
  for (const char* sat : {"", ".sat"}) {  // without .sat the same: floats are clipped always
    add_plain<To, From>(table, r + sat + types, f, 0, Form::convert);
    if constexpr (std::is_same_v<From, float>) {
      add_plain<To, From>(
          table, r + ".ftz" + sat + types,
          [](From a) { return whole<To, round>(flushed<Flush::yes>(a)); }, 0, Form::convert);
    }
  }
}

}  // namespace

void add_integer_conversions(Table& table) {
  for_types(AllIntegers{}, [&]<typename To>() {
    for_types(AllIntegers{}, [&]<typename From>() { add_whole<To, From>(table); });
    for_roundings([&]<Round round>() {
      add_from_whole<round, To>(table);
      add_to_whole<To, float, round>(table);
      add_to_whole<To, double, round>(table);
      add_to_whole<To, Half, round>(table);
    });
  });
}

}  // namespace lockstep::paper
