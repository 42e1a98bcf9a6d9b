// Operands: the corners of each type, values near them, and any bits.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ value >> 27) * 0x94D049BB133111EBULL;
  return value ^ value >> 31;
}

std::uint64_t whole_sample(int bits, std::uint64_t dice) {
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);
  const std::array<std::uint64_t, 16> corners{0,
                                              1,
                                              2,
                                              3,
                                              7,
                                              8,
                                              31,
                                              32,
                                              64,
                                              127,
                                              128,
                                              255,
                                              top,
                                              top - 1,
                                              ~std::uint64_t{0},
                                              ~std::uint64_t{0} - 1};
  const std::uint64_t any = mixed(dice + 1);
  if (dice % 8 < 5) return corners[dice / 8 % corners.size()];
  return dice % 8 == 5 ? any % 64 : any;
}

// Each fifth thread has one corner in all operands, with signs that differ.
constexpr std::uint32_t in_step = 5;

std::uint64_t float_sample(Format format, std::uint64_t dice, std::uint32_t n,
                           std::size_t operand) {
  const auto whole = [&](Wide value, int shift) {
    Exact exact = exact_of(value);
    exact.exponent = shift;
    return pack(format, exact, Mode::zero);
  };
  const std::uint64_t hidden = std::uint64_t{1} << (format.digits - 1);
  const std::array<std::uint64_t, 28> corners{0,
                                              1,
                                              hidden - 1,
                                              hidden,
                                              hidden + 1,  // zero, subnormal and least normal
                                              format.infinity() - 1,
                                              format.infinity(),
                                              format.nan(),
                                              whole(1, 0),
                                              whole(1, 0) + 1,
                                              whole(1, 0) - 1,
                                              whole(1, -1),
                                              whole(3, -1),
                                              whole(5, -1),
                                              whole(7, -1),
                                              whole(3, 0),
                                              whole(127, 0),
                                              whole(255, -1),
                                              whole(257, 0),
                                              whole(65535, 0),
                                              whole(1, 31),
                                              whole(1, 32) - 1,
                                              whole(1, 63),
                                              whole(1, 64) - 1,
                                              whole(3, 22),
                                              whole(1, -20),
                                              whole(314159, -17),
                                              whole(1, format.least() / 2)};
  if (n % in_step == in_step - 1) {
    const std::size_t corner = n / in_step;
    const bool negative = (corner / corners.size() + operand) % 2 != 0;
    return corners[corner % corners.size()] | (negative ? format.sign() : 0);
  }
  const std::uint64_t any = mixed(dice + 1), sign = (any & 1) != 0 ? format.sign() : 0;
  if (dice % 8 < 4) return corners[dice / 8 % corners.size()] | sign;
  if (dice % 8 == 4) return any;
  // Near 1, so that sums and products keep digits of both.
  const std::uint64_t one = whole(1, 0), step = std::uint64_t{8} << (format.digits - 1);
  return (one - step / 2 + (any >> 1) % step) | sign;
}

}  // namespace

Opcode::Opcode(std::string_view opcode) : text(opcode) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '.') continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
}

bool Opcode::has(std::string_view part) const {
  return std::ranges::find(parts, part) != parts.end();
}

Mode Opcode::mode() const {
  if (has("rz") || has("rzi")) return Mode::zero;
  if (has("rm") || has("rmi")) return Mode::down;
  if (has("rp") || has("rpi")) return Mode::up;
  return Mode::nearest;
}

int bits_of(const std::string& type) {
  if (type == "pred") return 1;
  if (type == "bf16") return 16;
  if (type == "f16x2" || type == "bf16x2") return 32;
  if (type.size() < 2) throw std::runtime_error("'" + type + "' is no type");
  return std::stoi(type.substr(1));
}

std::uint64_t cut(std::uint64_t value, int bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

Wide number_of(const std::string& type, std::uint64_t bits) {
  const int width = bits_of(type);
  const Wide value = cut(bits, width);
  const bool negative = type[0] == 's' && (bits >> (width - 1) & 1) != 0;
  return negative ? value - (Wide{1} << width) : value;
}

Format format_of(const std::string& type) {
  if (type.starts_with("bf16")) return bfloat16;
  return type == "f64" ? binary64 : type == "f32" ? binary32 : binary16;
}

bool is_float(const std::string& type) { return type[0] == 'f' || type.starts_with("bf"); }

std::uint64_t sample(const std::string& type, std::uint32_t n, std::size_t operand) {
  const std::uint64_t dice = mixed(n * 8191ULL + operand * 131ULL + 7) >> 8;
  if (type.ends_with("x2")) {
    const Format format = format_of(type);
    return cut(float_sample(format, dice, n, operand), 16) |
           cut(float_sample(format, mixed(dice), n, operand), 16) << 16;
  }
  const std::uint64_t value = is_float(type) ? float_sample(format_of(type), dice, n, operand)
                                             : whole_sample(std::max(2, bits_of(type)), dice);
  return cut(value, bits_of(type));
}

Case plain_case(const Opcode& opcode, std::vector<std::string> results,
                std::vector<std::string> operands, std::function<Words(const Words&)> thread) {
  Case made;
  made.opcode = opcode.text;
  made.results = std::move(results);
  made.operands = std::move(operands);
  made.thread = std::move(thread);
  return made;
}

std::vector<Case> cases_of(const std::string& opcode) {
  const Opcode parsed(opcode);
  for (const auto family :
       {carry_cases, integer_cases, bit_cases, choice_cases, float_cases, approximation_cases,
        conversion_cases, access_cases, atomic_cases, warp_cases, control_cases}) {
    if (auto made = family(parsed); !made.empty()) return made;
  }
  return {};
}

}  // namespace lockstep::paper::test
