// Floats of all widths: each result is the exact one, rounded once.
#include <algorithm>

#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

struct Modifiers {
  explicit Modifiers(const Opcode& o)
      : mode(o.mode()),
        flushes(o.has("ftz")),
        saturates(o.has("sat")),
        relu(o.has("relu")),
        keeps_nan(o.has("NaN")) {}
  Mode mode;
  bool flushes, saturates, relu, keeps_nan;
};

std::uint64_t without_subnormals(Format format, std::uint64_t bits) {
  const std::uint64_t rest = bits & (format.sign() - 1);
  return rest < std::uint64_t{1} << (format.digits - 1) ? bits & format.sign() : bits;
}

std::uint64_t finished(Format format, const Modifiers& m, std::uint64_t bits) {
  if (m.flushes) bits = without_subnormals(format, bits);
  const Exact value = unpack(format, bits);
  const Exact one = exact_of(1);
  if (m.saturates) {  // to [0, 1], NaN to 0
    if (value.is_nan() || value.negative || value.is_zero()) return 0;
    return order(value, one) > 0 ? pack(format, one) : bits;
  }
  if (m.relu && !value.is_nan() && (value.negative || value.is_zero())) return 0;
  return bits;
}

std::uint64_t extreme(Format format, const Modifiers& m, bool greatest, std::uint64_t a,
                      std::uint64_t b) {
  const Exact x = unpack(format, a), y = unpack(format, b);
  if (x.is_nan() || y.is_nan()) {
    if (m.keeps_nan || (x.is_nan() && y.is_nan())) return format.nan();
    return x.is_nan() ? b : a;
  }
  int which = order(x, y);
  if (which == 0) which = x.negative == y.negative ? 0 : x.negative ? -1 : 1;  // -0 < +0
  return (which < 0) != greatest ? a : b;
}

std::uint64_t computed(const std::string& name, Format format, const Modifiers& m, Words w) {
  if (m.flushes) {
    for (std::uint64_t& bits : w) bits = without_subnormals(format, bits);
  }
  if (name == "abs") return w[0] & ~format.sign();
  if (name == "neg") return w[0] ^ format.sign();
  if (name == "copysign") return (w[1] & ~format.sign()) | (w[0] & format.sign());
  if (name == "min" || name == "max") return extreme(format, m, name == "max", w[0], w[1]);
  const auto value = [&](std::size_t i) { return unpack(format, w[i]); };
  Exact result;
  if (name == "add") result = sum(value(0), value(1), m.mode);
  if (name == "sub") result = sum(value(0), negated(value(1)), m.mode);
  if (name == "mul") result = product(value(0), value(1));
  if (name == "fma" || name == "mad") result = sum(product(value(0), value(1)), value(2), m.mode);
  if (name == "div") result = quotient(value(0), value(1));
  if (name == "rcp") result = quotient(exact_of(1), value(0));
  if (name == "sqrt") result = root(value(0));
  return finished(format, m, pack(format, result, m.mode));
}

}  // namespace

std::vector<Case> float_cases(const Opcode& o) {
  const std::string& name = o.name();
  const std::string& type = o.type();
  static const std::vector<std::string> one{"abs", "neg", "rcp", "sqrt"},
      two{"add", "sub", "mul", "div", "min", "max", "copysign"}, three{"fma", "mad"};
  const auto among = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  const std::size_t count = among(one) ? 1 : among(two) ? 2 : among(three) ? 3 : 0;
  if (count == 0 || !is_float(type) || o.has("approx") || o.has("full")) return {};
  const Modifiers modifiers(o);
  const Format format = format_of(type);
  const bool pairs = type.ends_with("x2");
  Case made = plain_case(o, {type}, std::vector<std::string>(count, type), [=](const Words& w) {
    if (!pairs) return Words{computed(name, format, modifiers, w)};
    Words low, high;
    for (const std::uint64_t word : w) low.push_back(word & 0xFFFF), high.push_back(word >> 16);
    return Words{computed(name, format, modifiers, low) | computed(name, format, modifiers, high)
                                                              << 16};
  });
  const bool of_sign = name == "abs" || name == "neg" || name == "copysign";
  made.same_nan = type == "f32" && !of_sign;  // 0x7fffffff, as an H100 shows it
  if (count == 3 && !pairs) {
    // Now and then c is near -a * b, so that the rounding of the product would show.
    made.shape = [=](Words& w, std::uint32_t n) {
      if (n % 4 != 0) return;
      w[2] =
          pack(format, negated(product(unpack(format, w[0]), unpack(format, w[1])))) ^ (n / 4 & 1U);
    };
  }
  return {made};
}

}  // namespace lockstep::paper::test
