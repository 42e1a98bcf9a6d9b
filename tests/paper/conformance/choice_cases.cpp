// Comparisons, selections and moves.
#include <array>

#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

// A subnormal operand of .ftz is a zero of its sign.
std::uint64_t flushed_bits(const std::string& type, std::uint64_t bits) {
  const Format format = format_of(type);
  const std::uint64_t rest = bits & (format.sign() - 1);
  return rest < std::uint64_t{1} << (format.digits - 1) ? bits & format.sign() : bits;
}

// -1, 0, 1, or 2: not ordered.
int order_of(const std::string& type, bool flushes, std::uint64_t a, std::uint64_t b) {
  if (is_float(type)) {
    if (flushes) a = flushed_bits(type, a), b = flushed_bits(type, b);
    return order(unpack(format_of(type), a), unpack(format_of(type), b));
  }
  const Wide x = number_of(type, a), y = number_of(type, b);
  return x < y ? -1 : x > y ? 1 : 0;
}

bool holds(const std::string& compare, int order) {
  const bool unordered = order == 2;
  if (compare == "num") return !unordered;
  if (compare == "nan") return unordered;
  if (compare == "lo" || compare == "lt") return order == -1;
  if (compare == "ls" || compare == "le") return order == -1 || order == 0;
  if (compare == "hi" || compare == "gt") return order == 1;
  if (compare == "hs" || compare == "ge") return order == 1 || order == 0;
  if (compare == "eq") return order == 0;
  if (compare == "ne") return order == -1 || order == 1;
  return unordered || holds(compare.substr(0, 2), order);  // equ, neu, ...
}

bool joined(const Opcode& o, bool value, bool with) {
  return o.has("and")   ? value && with
         : o.has("or")  ? value || with
         : o.has("xor") ? value != with
                        : value;
}

// The bits of true in a type.
std::uint64_t truth(const std::string& type) {
  if (type == "f32") return 0x3F800000;
  if (type == "f16") return 0x3C00;
  return 0xFFFFFFFF;
}

std::vector<Case> comparison_cases(const Opcode& o) {
  const std::string &type = o.type(), &compare = o.parts[1];
  const bool flushes = o.has("ftz"), combines = o.has("and") || o.has("or") || o.has("xor");
  std::vector<std::string> operands{type, type};
  if (combines) operands.emplace_back("pred");
  const auto both = [=](const Words& w) {
    const bool value = holds(compare, order_of(type, flushes, w[0], w[1]));
    const bool with = combines && w[2] != 0;
    return std::array{joined(o, value, with), joined(o, !value, with)};
  };
  if (o.name() == "set") {
    const std::string& to = o.parts[o.parts.size() - 2];
    return {plain_case(o, {to}, operands,
                       [=](const Words& w) { return Words{both(w)[0] ? truth(to) : 0}; })};
  }
  const auto flags = [=](const Words& w) {
    return Words{std::uint64_t{both(w)[0]}, std::uint64_t{both(w)[1]}};
  };
  std::vector<Case> made{plain_case(o, {"pred"}, operands, flags)};
  if (type != "f16") made.push_back(plain_case(o, {"pred", "pred"}, operands, flags));
  return made;
}

std::vector<Case> class_cases(const Opcode& o) {
  const std::string &type = o.type(), &what = o.parts[1];
  return {plain_case(o, {"pred"}, {type}, [=](const Words& w) {
    const Format format = format_of(type);
    const std::uint64_t rest = w[0] & (format.sign() - 1);
    const bool small = rest < std::uint64_t{1} << (format.digits - 1);
    const bool nan = rest > format.infinity(), infinite = rest == format.infinity();
    bool is = false;
    if (what == "finite") is = !nan && !infinite;
    if (what == "infinite") is = infinite;
    if (what == "number") is = !nan;
    if (what == "notanumber") is = nan;
    if (what == "normal") is = !nan && !infinite && !small;
    if (what == "subnormal") is = small && rest != 0;
    return Words{std::uint64_t{is}};
  })};
}

std::vector<Case> selection_cases(const Opcode& o) {
  if (o.name() == "selp") {
    const std::string& type = o.type();
    return {plain_case(o, {type}, {type, type, "pred"},
                       [](const Words& w) { return Words{w[2] != 0 ? w[0] : w[1]}; })};
  }
  const std::string &type = o.parts[o.parts.size() - 2], &by = o.type();
  const bool flushes = o.has("ftz");
  return {plain_case(o, {type}, {type, type, by}, [=](const Words& w) {
    const int place = order_of(by, flushes, w[2], 0);
    return Words{place == 0 || place == 1 ? w[0] : w[1]};  // NaN chooses the second
  })};
}

// mov: registers, constants, parts of a register, and a register of parts.
std::vector<Case> move_cases(const Opcode& o) {
  const std::string& type = o.type();
  const auto same = [](const Words& w) { return Words{w[0]}; };
  std::vector<Case> made{plain_case(o, {type}, {type}, same)};
  if (type == "pred" || bits_of(type) < 32 || type[0] != 'b') return made;
  for (const int count : {2, 4}) {
    const int part = bits_of(type) / count;
    if (part < 16) continue;
    std::string parts, pieces;
    Case unpacks = plain_case(o, {}, {type}, [=](const Words& w) {
      Words results;
      for (int i = 0; i < count; ++i) results.push_back(cut(w[0] >> (part * i), part));
      return results;
    });
    Case packs = plain_case(o, {type}, {}, [=](const Words& w) {
      std::uint64_t whole = 0;
      for (int i = 0; i < count; ++i)
        whole |= cut(w[static_cast<std::size_t>(i)], part) << (part * i);
      return Words{whole};
    });
    for (int i = 0; i < count; ++i) {
      unpacks.results.push_back("b" + std::to_string(part));
      packs.operands.push_back("b" + std::to_string(part));
      parts += (i == 0 ? "$" : ",$") + std::to_string(i);
      pieces += (i == 0 ? "#" : ",#") + std::to_string(i);
    }
    unpacks.lines = {o.text + " {" + parts + "}, #0"};
    packs.lines = {o.text + " $0, {" + pieces + "}"};
    made.push_back(unpacks);
    made.push_back(packs);
  }
  return made;
}

// An address to generic and back, read through on the way.
std::vector<Case> address_cases(const Opcode& o) {
  const bool back = o.has("to");
  const std::string space = o.parts[back ? 2 : 1];
  if (space == "const") {
    Case made = plain_case(o, {"b64"}, {}, [](const Words&) {
      std::uint64_t bytes = 0;
      for (std::uint64_t i = 8; i-- > 0;) bytes = bytes << 8 | (37 * i + 131) % 256;
      return Words{bytes};
    });
    made.lines = {"mov.u64 %x0, sheet"};
    if (back) made.lines.emplace_back("cvta.const.u64 %x0, %x0");
    made.lines.push_back(o.text + " %x0, %x0");
    made.lines.emplace_back(back ? "ld.const.u64 $0, [%x0]" : "ld.u64 $0, [%x0]");
    return {made};
  }
  const std::string own = space == "shared" ? "%board" : space == "global" ? "%cell" : "own_~";
  Case made = plain_case(o, {"b64"}, {"b64"}, [](const Words& w) { return Words{w[0]}; });
  made.lines = {"mov.u64 %x0, " + own, "st." + space + ".u64 [%x0+8], #0"};
  if (back) made.lines.push_back("cvta." + space + ".u64 %x0, %x0");
  made.lines.push_back(o.text + " %x0, %x0");
  made.lines.push_back(back ? "ld." + space + ".u64 $0, [%x0+8]" : "ld.u64 $0, [%x0+8]");
  return {made};
}

}  // namespace

std::vector<Case> choice_cases(const Opcode& o) {
  const std::string& name = o.name();
  if (name == "setp" || name == "set") return comparison_cases(o);
  if (name == "testp") return class_cases(o);
  if (name == "selp" || name == "slct") return selection_cases(o);
  if (name == "mov") return move_cases(o);
  if (name == "cvta") return address_cases(o);
  return {};
}

}  // namespace lockstep::paper::test
