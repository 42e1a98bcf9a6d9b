// Bits: by the manual's loops over single bits.
#include <algorithm>
#include <array>

#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

bool bit_of(std::uint64_t value, std::uint64_t place) { return (value >> place & 1) != 0; }

std::uint64_t shifted(const Opcode& o, std::uint64_t value, std::uint64_t by) {
  const std::string& type = o.type();
  const std::uint64_t bits = static_cast<std::uint64_t>(bits_of(type));
  std::uint64_t result = 0;
  const bool sign = type[0] == 's' && bit_of(value, bits - 1);
  for (std::uint64_t place = 0; place < bits; ++place) {
    bool set = false;
    if (o.name() == "shl")
      set = place >= by && bit_of(value, place - by);
    else
      set = by < bits && place + by < bits ? bit_of(value, place + by) : sign;
    result |= std::uint64_t{set} << place;
  }
  return result;
}

std::uint64_t extracted(const std::string& type, const Words& w) {
  const std::uint64_t msb = static_cast<std::uint64_t>(bits_of(type)) - 1;
  const std::uint64_t pos = w[1] & 0xFF, len = w[2] & 0xFF;
  bool sign = false;
  if (type[0] == 's' && len != 0) sign = bit_of(w[0], std::min(pos + len - 1, msb));
  std::uint64_t result = 0;
  for (std::uint64_t i = 0; i <= msb; ++i) {
    const bool set = i < len && pos + i <= msb ? bit_of(w[0], pos + i) : sign;
    result |= std::uint64_t{set} << i;
  }
  return result;
}

std::uint64_t inserted(const std::string& type, const Words& w) {
  const std::uint64_t msb = static_cast<std::uint64_t>(bits_of(type)) - 1;
  const std::uint64_t pos = w[2] & 0xFF, len = w[3] & 0xFF;
  std::uint64_t result = w[1];
  for (std::uint64_t i = 0; i < len && pos + i <= msb; ++i) {
    const std::uint64_t place = std::uint64_t{1} << (pos + i);
    result = bit_of(w[0], i) ? result | place : result & ~place;
  }
  return result;
}

std::uint64_t found_highest(const Opcode& o, std::uint64_t value) {
  const int msb = bits_of(o.type()) - 1;
  const bool negative = o.type()[0] == 's' && bit_of(value, static_cast<std::uint64_t>(msb));
  for (int place = msb; place >= 0; --place) {
    if (bit_of(value, static_cast<std::uint64_t>(place)) == negative) continue;
    return static_cast<std::uint64_t>(o.has("shiftamt") ? msb - place : place);
  }
  return 0xFFFFFFFF;
}

std::uint64_t counted(const Opcode& o, std::uint64_t value) {
  const int bits = bits_of(o.type());
  std::uint64_t ones = 0, leading = 0, turned = 0;
  bool seen = false;
  for (int place = bits - 1; place >= 0; --place) {
    const bool set = bit_of(value, static_cast<std::uint64_t>(place));
    ones += set;
    seen = seen || set;
    leading += !seen;
    turned |= std::uint64_t{set} << (bits - 1 - place);
  }
  return o.name() == "popc" ? ones : o.name() == "clz" ? leading : turned;
}

std::uint64_t byte_of(const Words& w, std::uint64_t which) {
  return (w[1] << 32 | cut(w[0], 32)) >> (8 * (which & 7)) & 0xFF;
}
std::uint64_t permuted_bytes(const std::string& mode, const Words& w) {
  std::uint64_t result = 0;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t c = w[2] & 3;
    std::uint64_t byte = 0;
    if (mode == "f4e") byte = byte_of(w, i + c);
    if (mode == "b4e") byte = byte_of(w, 8 + c - i);
    if (mode == "rc8") byte = byte_of(w, c);
    if (mode == "ecl") byte = byte_of(w, std::max(i, c));
    if (mode == "ecr") byte = byte_of(w, std::min(i, c));
    if (mode == "rc16") byte = byte_of(w, i % 2 + 2 * (c & 1));
    if (mode == "b32") {
      const std::uint64_t choice = w[2] >> (4 * i) & 0xF;
      byte = byte_of(w, choice);
      if (choice >= 8) byte = byte >= 0x80 ? 0xFF : 0;
    }
    result |= byte << (8 * i);
  }
  return result;
}

std::uint64_t funnel(const Opcode& o, const Words& w) {
  const std::uint64_t by = o.has("clamp") ? std::min<std::uint64_t>(w[2], 32) : w[2] & 31;
  const std::uint64_t both = w[1] << 32 | w[0];
  return o.has("l") ? (by == 0 ? w[1] : both >> (32 - by)) : both >> by;
}

std::uint64_t nth_bit(const Words& w) {
  const std::uint64_t mask = w[0], base = w[1];
  const std::int64_t offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(w[2]));
  std::int64_t pos = static_cast<std::int64_t>(base), count = std::abs(offset) - 1;
  const std::int64_t step = offset < 0 ? -1 : 1;
  if (offset == 0) return bit_of(mask, base) ? base : 0xFFFFFFFF;
  for (; pos >= 0 && pos < 32; pos += step) {
    if (!bit_of(mask, static_cast<std::uint64_t>(pos))) continue;
    if (count == 0) return static_cast<std::uint64_t>(pos);
    --count;
  }
  return 0xFFFFFFFF;
}

std::vector<Case> logic_cases(const Opcode& o) {
  const std::string &name = o.name(), &type = o.type();
  if (name == "not" || name == "cnot") {
    const bool whole = name == "cnot";
    return {plain_case(o, {type}, {type}, [=](const Words& w) {
      return Words{whole ? std::uint64_t{w[0] == 0} : ~w[0]};
    })};
  }
  return {plain_case(o, {type}, {type, type}, [name](const Words& w) {
    return Words{name == "and" ? w[0] & w[1] : name == "or" ? w[0] | w[1] : w[0] ^ w[1]};
  })};
}

// Its rule must be a constant: several are tried, one a result.
Case lop3_case(const Opcode& o) {
  static constexpr std::array<std::uint64_t, 8> rules{0x96, 0xE8, 0x1E, 0xCA,
                                                      0xF8, 0x01, 0xFF, 0x5A};
  Case made;
  made.opcode = o.text;
  made.operands = {"b32", "b32", "b32"};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    made.results.emplace_back("b32");
    made.lines.push_back(o.text + " $" + std::to_string(i) + ", #0, #1, #2, " +
                         std::to_string(rules[i]));
  }
  made.thread = [](const Words& w) {
    Words results;
    for (const std::uint64_t rule : rules) {
      std::uint64_t value = 0;
      for (std::uint64_t place = 0; place < 32; ++place) {
        const std::uint64_t row = std::uint64_t{bit_of(w[0], place)} << 2 |
                                  std::uint64_t{bit_of(w[1], place)} << 1 |
                                  std::uint64_t{bit_of(w[2], place)};
        value |= std::uint64_t{bit_of(rule, row)} << place;
      }
      results.push_back(value);
    }
    return results;
  };
  return made;
}

}  // namespace

std::vector<Case> bit_cases(const Opcode& o) {
  const std::string &name = o.name(), &type = o.type();
  const auto one = [&](std::string result, std::vector<std::string> operands, auto f) {
    return std::vector{plain_case(o, {std::move(result)}, std::move(operands),
                                  [=](const Words& w) { return Words{f(w)}; })};
  };
  if (name == "and" || name == "or" || name == "xor" || name == "not" || name == "cnot")
    return logic_cases(o);
  if (name == "shl" || name == "shr")
    return one(type, {type, "u32"}, [o](const Words& w) { return shifted(o, w[0], w[1]); });
  if (name == "popc" || name == "clz")
    return one("u32", {type}, [o](const Words& w) { return counted(o, w[0]); });
  if (name == "brev") return one(type, {type}, [o](const Words& w) { return counted(o, w[0]); });
  if (name == "bfind")
    return one("u32", {type}, [o](const Words& w) { return found_highest(o, w[0]); });
  if (name == "bfe")
    return one(type, {type, "u32", "u32"}, [type](const Words& w) { return extracted(type, w); });
  if (name == "bfi") {
    return one(type, {type, type, "u32", "u32"},
               [type](const Words& w) { return inserted(type, w); });
  }
  if (name == "shf")
    return one("b32", {"b32", "b32", "u32"}, [o](const Words& w) { return funnel(o, w); });
  if (name == "prmt") {
    return one("b32", {"b32", "b32", "b32"},
               [type](const Words& w) { return permuted_bytes(type, w); });
  }
  if (name == "lop3") return {lop3_case(o)};
  if (name == "fns") {
    auto made = one("b32", {"b32", "b32", "s32"}, nth_bit);
    made[0].shape = [](Words& w, std::uint32_t n) {
      w[1] = n % 32;
      w[2] = cut(static_cast<std::uint64_t>(static_cast<std::int64_t>(n % 11) - 5), 32);
    };
    return made;
  }
  return {};
}

}  // namespace lockstep::paper::test
