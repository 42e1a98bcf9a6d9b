// What a GPU may approximate: compared with libm in double, by units of the last place.
#include <bit>
#include <cmath>

#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

constexpr double units_max = 2;  // what the manual allows of most of them

double approximated(const Opcode& o, double a, double b) {
  const std::string& name = o.name();
  if (name == "rcp") return 1 / a;
  if (name == "sqrt") return std::sqrt(a);
  if (name == "rsqrt") return 1 / std::sqrt(a);
  if (name == "ex2") return std::exp2(a);
  if (name == "lg2") return std::log2(a);
  if (name == "sin") return std::sin(a);
  if (name == "cos") return std::cos(a);
  if (name == "tanh") return std::tanh(a);
  return a / b;
}

template <typename T>
T flushed_to_zero(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T{0}, value) : value;
}

}  // namespace

std::vector<Case> approximation_cases(const Opcode& o) {
  if (!o.has("approx") && !o.has("full")) return {};
  const std::string& type = o.type();
  const bool flushes = o.has("ftz"), divides = o.name() == "div";
  const std::vector<std::string> operands(divides ? 2 : 1, type);
  Case made;
  if (type == "f64") {
    made = plain_case(o, {type}, operands, [=](const Words& w) {
      double a = std::bit_cast<double>(w[0]);
      if (flushes) a = flushed_to_zero(a);
      double result = approximated(o, a, 1);
      if (flushes) result = flushed_to_zero(result);
      return Words{std::bit_cast<std::uint64_t>(result)};
    });
  } else {
    const auto number = [=](std::uint64_t bits) {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      return flushes ? flushed_to_zero(value) : value;
    };
    made = plain_case(o, {type}, operands, [=](const Words& w) {
      auto result = static_cast<float>(
          approximated(o, double{number(w[0])}, divides ? double{number(w[1])} : 1.0));
      if (flushes) result = flushed_to_zero(result);
      return Words{std::bit_cast<std::uint32_t>(result)};
    });
  }
  made.ulps = units_max;
  return {made};
}

}  // namespace lockstep::paper::test
