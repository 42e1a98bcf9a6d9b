// cvt between whole numbers and floats, in each rounding.
#include <algorithm>

#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

struct Conversion {
  explicit Conversion(const Opcode& o)
      : to(o.type()),
        from(o.type()),
        mode(o.mode()),
        flushes(o.has("ftz")),
        clips(o.has("sat")),
        relu(o.has("relu")) {
    to = o.parts[o.parts.size() - 2];
    for (const char* part : {"rni", "rzi", "rmi", "rpi"}) to_whole = to_whole || o.has(part);
  }
  std::string to, from;
  Mode mode;
  bool flushes, clips, relu, to_whole = false;
};

std::uint64_t no_subnormal(const std::string& type, std::uint64_t bits) {
  const Format format = format_of(type);
  const std::uint64_t rest = bits & (format.sign() - 1);
  return rest < std::uint64_t{1} << (format.digits - 1) ? bits & format.sign() : bits;
}

std::uint64_t whole_bits(Wide value) {
  return static_cast<std::uint64_t>(static_cast<UWide>(value));
}

Wide least_of(const std::string& type) {
  return type[0] == 's' ? -(Wide{1} << (bits_of(type) - 1)) : 0;
}
Wide greatest_of(const std::string& type) {
  return (Wide{1} << (bits_of(type) - (type[0] == 's' ? 1 : 0))) - 1;
}

std::uint64_t float_to_whole(const Conversion& c, const Exact& value) {
  if (value.is_nan()) {
    const bool wide = c.from == "f64" || bits_of(c.to) == 64;
    return wide ? std::uint64_t{1} << (bits_of(c.to) - 1) : 0;
  }
  // Past 2^64 nothing fits; whole_of could not hold it.
  const bool huge = value.what == Exact::What::infinite ||
                    order({Exact::What::finite, false, value.whole, value.exponent},
                          {Exact::What::finite, false, 1, 65}) > 0;
  if (huge) return whole_bits(value.negative ? least_of(c.to) : greatest_of(c.to));
  return whole_bits(std::clamp(whole_of(value, c.mode), least_of(c.to), greatest_of(c.to)));
}

std::uint64_t to_float(const Conversion& c, const Exact& value) {
  const Format format = format_of(c.to);
  std::uint64_t bits = 0;
  const bool finite = value.what == Exact::What::finite;
  if (c.to_whole && finite && value.exponent < 0) {
    Exact whole = exact_of(whole_of(value, c.mode));
    whole.negative = value.negative;  // of a zero too
    bits = pack(format, whole);
  } else {
    bits = pack(format, value, c.mode);
  }
  if (c.flushes && c.to == "f32") bits = no_subnormal(c.to, bits);
  const Exact rounded = unpack(format, bits);
  if (c.clips) {
    if (rounded.is_nan() || rounded.negative || rounded.is_zero()) return 0;
    return order(rounded, exact_of(1)) > 0 ? pack(format, exact_of(1)) : bits;
  }
  if (c.relu && !rounded.is_nan() && (rounded.negative || rounded.is_zero())) return 0;
  return bits;
}

std::uint64_t converted(const Conversion& c, std::uint64_t bits) {
  if (c.flushes && c.from == "f32") bits = no_subnormal(c.from, bits);
  if (is_float(c.from)) {
    const Exact value = unpack(format_of(c.from), bits);
    return is_float(c.to) ? to_float(c, value) : float_to_whole(c, value);
  }
  const Wide value = number_of(c.from, bits);
  if (is_float(c.to)) return to_float(c, exact_of(value));
  return whole_bits(c.clips ? std::clamp(value, least_of(c.to), greatest_of(c.to)) : value);
}

}  // namespace

std::vector<Case> conversion_cases(const Opcode& o) {
  if (o.name() != "cvt") return {};
  const Conversion c(o);
  if (c.to.ends_with("x2")) {  // the first operand is the upper half
    Conversion half = c;
    half.to = c.to.substr(0, c.to.size() - 2);
    return {plain_case(o, {c.to}, {c.from, c.from}, [half](const Words& w) {
      return Words{converted(half, w[0]) << 16 | converted(half, w[1])};
    })};
  }
  // A register of 8 bits is one of 16, whose upper half says nothing.
  const std::string from = bits_of(c.from) == 8 ? "b16" : c.from;
  std::vector<Case> made{plain_case(o, {c.to}, {from}, [c](const Words& w) {
    return Words{converted(c, cut(w[0], bits_of(c.from)))};
  })};
  // A whole number may go into a wider register, extended by its own sign.
  if (!is_float(c.to) && bits_of(c.to) < 32) {
    made.push_back(plain_case(o, {"b32"}, {from}, [c](const Words& w) {
      return Words{whole_bits(number_of(c.to, converted(c, cut(w[0], bits_of(c.from)))))};
    }));
  }
  return made;
}

}  // namespace lockstep::paper::test
