// Functions that a GPU approximates (.approx, .full). Here they have libm's values, which differ by
// an ulp or two.
#include <cmath>

#include "engine/paper/lanes/rounding.hpp"

namespace lockstep::paper {
namespace {

template <typename T, Flush flush, typename F>
void add_function(Table& table, const std::string& name, F) {
  add_plain<T, T>(
      table, name, [](T a) { return flushed<flush>(F{}(flushed<flush>(a))); }, 1);
}

template <Flush flush>
void add_approximate(Table& table, const std::string& s) {
  add_function<float, flush>(table, "rcp.approx" + s, [](float a) { return 1 / a; });
  add_function<float, flush>(table, "sqrt.approx" + s, [](float a) { return std::sqrt(a); });
  add_function<float, flush>(table, "rsqrt.approx" + s, [](float a) { return 1 / std::sqrt(a); });
  add_function<float, flush>(table, "ex2.approx" + s, [](float a) { return std::exp2(a); });
  add_function<float, flush>(table, "lg2.approx" + s, [](float a) { return std::log2(a); });
  add_function<float, flush>(table, "sin.approx" + s, [](float a) { return std::sin(a); });
  add_function<float, flush>(table, "cos.approx" + s, [](float a) { return std::cos(a); });
  for (const char* kind : {"div.approx", "div.full"}) {
    add_plain<float, float, float>(
        table, kind + s,
        [](float a, float b) { return flushed<flush>(flushed<flush>(a) / flushed<flush>(b)); }, 1);
  }
}

}  // namespace

void add_approximations(Table& table) {
  add_approximate<Flush::no>(table, ".f32");
  add_approximate<Flush::yes>(table, ".ftz.f32");
  add_function<float, Flush::no>(table, "tanh.approx.f32", [](float a) { return std::tanh(a); });
  add_function<double, Flush::yes>(table, "rcp.approx.ftz.f64", [](double a) { return 1 / a; });
  add_function<double, Flush::yes>(table, "rsqrt.approx.ftz.f64",
                                   [](double a) { return 1 / std::sqrt(a); });
  add_function<double, Flush::no>(table, "rsqrt.approx.f64",
                                  [](double a) { return 1 / std::sqrt(a); });
}

}  // namespace lockstep::paper
