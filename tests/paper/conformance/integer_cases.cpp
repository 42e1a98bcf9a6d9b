// Whole numbers, and sums with a carry.
#include <algorithm>

#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

std::uint64_t low(Wide value) { return static_cast<std::uint64_t>(static_cast<UWide>(value)); }

bool is_whole(const std::string& type) {
  return type.size() >= 2 && (type[0] == 'u' || type[0] == 's') && type != "sync" &&
         type[1] >= '0' && type[1] <= '9';
}

// The part of a product that .lo, .hi and .wide name. 64 bits times 64 fit in 128 of either sign.
std::uint64_t product_part(const Opcode& o, const std::string& type, std::uint64_t a,
                           std::uint64_t b) {
  const int bits = bits_of(type);
  const Wide x = number_of(type, a), y = number_of(type, b);
  const UWide product = static_cast<UWide>(x) * static_cast<UWide>(y);
  if (!o.has("hi")) return static_cast<std::uint64_t>(product);
  return type[0] == 's' ? low(static_cast<Wide>(product) >> bits)
                        : static_cast<std::uint64_t>(product >> bits);
}

std::uint64_t divided(const std::string& type, std::uint64_t a, std::uint64_t b, bool rest) {
  const Wide x = number_of(type, a), y = number_of(type, b);
  // PTX leaves the quotient by zero open; GPUs answer with all ones, and with the dividend.
  if (y == 0) return rest ? a : ~std::uint64_t{0};
  return low(rest ? x % y : x / y);
}

std::uint64_t clipped_to_s32(Wide value) {
  return low(std::clamp<Wide>(value, -(Wide{1} << 31), (Wide{1} << 31) - 1));
}

std::uint64_t dotted(const Opcode& o, const Words& w) {
  const std::string a = o.parts[1][0] == 's' ? "s8" : "u8", b = o.parts[2][0] == 's' ? "s8" : "u8";
  Wide sum = static_cast<Wide>(w[2]);
  for (int byte = 0; byte < 4; ++byte) {
    sum += number_of(a, w[0] >> (8 * byte)) * number_of(b, w[1] >> (8 * byte));
  }
  return low(sum);
}

Wide low_24_bits(const std::string& type, std::uint64_t value) {
  const Wide number = static_cast<Wide>(cut(value, 24));
  return type[0] == 's' && number >= Wide{1} << 23 ? number - (Wide{1} << 24) : number;
}

}  // namespace

std::vector<Case> integer_cases(const Opcode& o) {
  const std::string& type = o.type();
  const std::string& name = o.name();
  if (name == "dp4a") {
    const std::string result = o.has("s32") ? "s32" : "u32";
    return {plain_case(o, {result}, {"u32", "u32", result},
                       [o](const Words& w) { return Words{dotted(o, w)}; })};
  }
  static const std::vector<std::string> names{"add", "sub", "mul", "mad", "div", "rem",
                                              "min", "max", "sad", "neg", "abs", "mul24"};
  const bool known = std::ranges::find(names, name) != names.end() && is_whole(type);
  if (!known) return {};
  const auto number = [type](std::uint64_t bits) { return number_of(type, bits); };
  const auto two = [&](auto f) {
    return std::vector{
        plain_case(o, {type}, {type, type}, [=](const Words& w) { return Words{f(w[0], w[1])}; })};
  };
  const auto of_numbers = [&](auto f) {
    return two([=](std::uint64_t a, std::uint64_t b) { return low(f(number(a), number(b))); });
  };
  const bool saturates = o.has("sat");
  if (name == "add" && saturates)
    return two([=](auto a, auto b) { return clipped_to_s32(number(a) + number(b)); });
  if (name == "sub" && saturates)
    return two([=](auto a, auto b) { return clipped_to_s32(number(a) - number(b)); });
  if (name == "add") return of_numbers([](Wide a, Wide b) { return a + b; });
  if (name == "sub") return of_numbers([](Wide a, Wide b) { return a - b; });
  if (name == "min") return of_numbers([](Wide a, Wide b) { return std::min(a, b); });
  if (name == "max") return of_numbers([](Wide a, Wide b) { return std::max(a, b); });
  if (name == "div") return two([=](auto a, auto b) { return divided(type, a, b, false); });
  if (name == "rem") return two([=](auto a, auto b) { return divided(type, a, b, true); });
  if (name == "mul24") {
    return two([=](auto a, auto b) { return low(low_24_bits(type, a) * low_24_bits(type, b)); });
  }
  if (name == "neg" || name == "abs") {
    const bool always = name == "neg";
    return {plain_case(o, {type}, {type}, [=](const Words& w) {
      const Wide value = number(w[0]);
      return Words{low(always || value < 0 ? -value : value)};
    })};
  }
  if (name == "sad") {
    return {plain_case(o, {type}, {type, type, type}, [=](const Words& w) {
      const Wide apart = number(w[0]) - number(w[1]);
      return Words{low((apart < 0 ? -apart : apart) + number(w[2]))};
    })};
  }
  std::string wide = type;
  if (o.has("wide")) wide = type[0] + std::to_string(2 * bits_of(type));
  if (name == "mul") {
    return {plain_case(o, {wide}, {type, type}, [o, type](const Words& w) {
      return Words{product_part(o, type, w[0], w[1])};
    })};
  }
  return {plain_case(o, {wide}, {type, type, wide}, [o, type](const Words& w) {  // mad
    return Words{product_part(o, type, w[0], w[1]) + w[2]};
  })};
}

// The carry comes from an addition before, and is read by one after.
std::vector<Case> carry_cases(const Opcode& o) {
  const std::string& name = o.name();
  const bool uses = name == "addc" || name == "subc" || name == "madc", leaves = o.has("cc");
  if ((!uses && !leaves) || o.has("cta")) return {};
  const std::string& type = o.type();
  const int bits = bits_of(type);
  const bool product = name.starts_with("mad"), subtracts = name.starts_with("sub");
  Case made;
  made.opcode = o.text;
  made.results = {type};
  made.operands = {type, type, "u32"};
  if (product) made.operands.push_back(type);
  if (leaves) made.results.emplace_back("u32");
  made.lines.emplace_back("add.cc.u32 %w0, #2, 0xFFFFFFFF");  // carries where #2 is not 0
  made.lines.push_back(o.text + " $0, #0, #1" + (product ? ", #3" : ""));
  if (leaves) made.lines.emplace_back("addc.u32 $1, 0, 0");
  made.shape = [](Words& w, std::uint32_t n) { w[2] = n / 3 % 2; };
  made.thread = [=](const Words& w) {
    const UWide enters = uses && w[2] != 0 ? 1 : 0;
    UWide result = 0;
    if (product)
      result = UWide{cut(product_part(o, type, w[0], w[1]), bits)} + w[3] + enters;
    else
      result = subtracts ? UWide{w[0]} - w[1] - enters : UWide{w[0]} + w[1] + enters;
    return Words{static_cast<std::uint64_t>(result),
                 static_cast<std::uint64_t>(result >> bits) & 1U};
  };
  return {made};
}

}  // namespace lockstep::paper::test
