// cvt between floats, and to a whole number that stays a float (cvt.rmi.f32.f32).
#include <cmath>

#include "engine/paper/lanes/rounding.hpp"

namespace lockstep::paper {
namespace {

template <Flush flush, Saturate saturate>
void add_narrowing(Table& table, const std::string& modifiers) {
  for_roundings([&]<Round round>() {
    add_rounded<round, float, double>(
        table, std::string("cvt") + rounding_name<round>() + modifiers + ".f32.f64",
        [](double a) { return clamped<saturate>(flushed<flush>(static_cast<float>(a))); }, 0);
  });
}

template <Flush flush, Saturate saturate>
void add_same_float(Table& table, const std::string& modifiers) {
  const auto put = [&]<Round round>() {
    add_plain<float, float>(
        table, std::string("cvt") + rounding_name<round>() + "i" + modifiers + ".f32.f32",
        [](float a) {
          const float b = flushed<flush>(a);
          return clamped<saturate>(round == Round::nearest ? std::nearbyint(b)
                                   : round == Round::zero  ? std::trunc(b)
                                   : round == Round::down  ? std::floor(b)
                                                           : std::ceil(b));
        });
  };
  for_roundings(put);
  add_plain<float, float>(table, "cvt" + modifiers + ".f32.f32",
                          [](float a) { return clamped<saturate>(flushed<flush>(a)); });
}

void add_doubles(Table& table) {
  for_roundings([&]<Round round>() {
    const std::string r = std::string("cvt") + rounding_name<round>();
    add_plain<double, double>(table, r + "i.f64.f64", [](double a) {
      return round == Round::nearest ? std::nearbyint(a)
             : round == Round::zero  ? std::trunc(a)
             : round == Round::down  ? std::floor(a)
                                     : std::ceil(a);
    });
    add_plain<Half, Half>(table, r + "i.f16.f16", [](Half a) {
      const float b = to_float(a);
      return half_of(round == Round::nearest ? std::nearbyint(b)
                     : round == Round::zero  ? std::trunc(b)
                     : round == Round::down  ? std::floor(b)
                                             : std::ceil(b));
    });
  });
  add_plain<double, double>(table, "cvt.f64.f64", [](double a) { return a; });
  add_plain<double, double>(table, "cvt.sat.f64.f64",
                            [](double a) { return clamped<Saturate::yes>(a); });
  add_plain<double, float>(table, "cvt.f64.f32", [](float a) { return double{a}; });
  add_plain<double, float>(table, "cvt.ftz.f64.f32",
                           [](float a) { return double{flushed<Flush::yes>(a)}; });
}

// From float or double to a half, and two floats to a pair (the first one is the upper).
template <typename H, typename H2, Round round>
void add_to_half(Table& table) {
  const auto narrow = [](double a) {
    if constexpr (std::is_same_v<H, Half>)
      return half_of(a, round);
    else
      return bfloat_of(a, round);
  };
  const auto relu = [](double a) { return decltype(narrow){}(a > 0 || std::isnan(a) ? a : 0.0); };
  using N = std::remove_const_t<decltype(narrow)>;
  using P = std::remove_const_t<decltype(relu)>;
  const std::string r = std::string("cvt") + rounding_name<round>(), s = "." + suffix<H>();
  if constexpr (std::is_same_v<H, BFloat> && round == Round::nearest) {
    add_plain<H, float>(table, r + s + ".f32", [](float a) { return bfloat_of(a); });  // much used
  } else {
    add_plain<H, float>(table, r + s + ".f32", [](float a) { return N{}(a); });
  }
  add_plain<H, float>(table, r + ".relu" + s + ".f32", [](float a) { return P{}(a); });
  add_plain<H2, float, float>(table, r + s + "x2.f32", [](float a, float b) {
    return H2{N{}(b), N{}(a)};
  });
  add_plain<H2, float, float>(table, r + ".relu" + s + "x2.f32", [](float a, float b) {
    return H2{P{}(b), P{}(a)};
  });
  if constexpr (std::is_same_v<H, Half>) {
    add_plain<H, double>(table, r + s + ".f64", [](double a) { return N{}(a); });
  }
}

}  // namespace

void add_float_conversions(Table& table) {
  add_narrowing<Flush::no, Saturate::no>(table, "");
  add_narrowing<Flush::yes, Saturate::no>(table, ".ftz");
  add_narrowing<Flush::no, Saturate::yes>(table, ".sat");
  add_narrowing<Flush::yes, Saturate::yes>(table, ".ftz.sat");
  add_same_float<Flush::no, Saturate::no>(table, "");
  add_same_float<Flush::yes, Saturate::no>(table, ".ftz");
  add_same_float<Flush::no, Saturate::yes>(table, ".sat");
  add_same_float<Flush::yes, Saturate::yes>(table, ".ftz.sat");
  add_doubles(table);
  add_to_half<Half, Half2, Round::nearest>(table);
  add_to_half<Half, Half2, Round::zero>(table);
  add_to_half<BFloat, BFloat2, Round::nearest>(table);
  add_to_half<BFloat, BFloat2, Round::zero>(table);
  add_plain<float, Half>(table, "cvt.f32.f16", [](Half a) { return to_float(a); });
  add_plain<float, Half>(table, "cvt.ftz.f32.f16", [](Half a) { return to_float(a); });
  add_plain<double, Half>(table, "cvt.f64.f16", [](Half a) { return double{to_float(a)}; });
  add_plain<float, BFloat>(table, "cvt.f32.bf16", [](BFloat a) { return to_float(a); });
}

}  // namespace lockstep::paper
