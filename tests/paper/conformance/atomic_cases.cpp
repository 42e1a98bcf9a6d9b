// atom and red: each lane on a word of its own, and all lanes of a block on one.
#include <algorithm>

#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

struct Atomic {
  explicit Atomic(const Opcode& o) : type(o.type()) {
    for (const char* part : {"global", "shared"})
      if (o.has(part)) space = part;
    for (const char* part : {"cas", "exch", "add", "and", "or", "xor", "min", "max", "inc", "dec"})
      if (o.has(part)) what = part;
  }
  std::string type, space = "generic", what;
};

std::uint64_t float_sum(const std::string& type, std::uint64_t a, std::uint64_t b) {
  if (type.ends_with("x2")) {
    const std::string half = type.substr(0, type.size() - 2);
    return float_sum(half, a & 0xFFFF, b & 0xFFFF) | float_sum(half, a >> 16, b >> 16) << 16;
  }
  const Format format = format_of(type);
  return pack(format, sum(unpack(format, a), unpack(format, b), Mode::nearest));
}

std::uint64_t updated(const Atomic& a, std::uint64_t old, const Words& w) {  // w: b, c
  const std::uint64_t b = w[0];
  if (a.what == "cas") return old == b ? w[1] : old;
  if (a.what == "exch") return b;
  if (a.what == "and") return old & b;
  if (a.what == "or") return old | b;
  if (a.what == "xor") return old ^ b;
  if (a.what == "inc") return old >= b ? 0 : old + 1;
  if (a.what == "dec") return old == 0 || old > b ? b : old - 1;
  if (a.what == "add" && is_float(a.type)) return float_sum(a.type, old, b);
  if (a.what == "add") return cut(old + b, bits_of(a.type));
  const bool less = number_of(a.type, b) < number_of(a.type, old);
  return less == (a.what == "min") ? b : old;
}

// The address in %x0 as the opcode takes it, in %x1 as its space does.
std::vector<std::string> places(const Atomic& a, const std::string& space, const std::string& own) {
  std::vector<std::string> lines{"mov.u64 %x1, " + own, "mov.u64 %x0, %x1"};
  if (a.space == "generic") lines.push_back("cvta." + space + ".u64 %x0, %x1");
  return lines;
}

Case own_word(const Opcode& o, const Atomic& a, const std::string& space) {
  const bool answers = o.name() == "atom", two = a.what == "cas";
  Case made;
  made.opcode = o.text;
  made.operands = {a.type, a.type};
  if (two) made.operands.push_back(a.type);
  made.results = {a.type};
  if (answers) made.results.push_back(a.type);
  const std::string width = ".b" + std::to_string(bits_of(a.type));
  made.lines = places(a, space, space == "shared" ? "%board" : "%cell");
  made.lines.push_back("st." + space + width + " [%x1+8], #0");
  made.lines.push_back(o.text + (answers ? " $1, [%x0+8], #1" : " [%x0+8], #1") +
                       (two ? ", #2" : ""));
  made.lines.push_back("ld." + space + width + " $0, [%x1+8]");
  made.thread = [=](const Words& w) {
    return Words{updated(a, w[0], {w[1], two ? w[2] : 0}), w[0]};
  };
  return made;
}

// All threads of a block on the word of its first one; only what does not depend on their order.
Case one_word(const Opcode& o, const Atomic& a, const std::string& space) {
  Case made;
  made.opcode = o.text;
  made.operands = {a.type};
  made.results = {a.type};
  const std::string width = ".b" + std::to_string(bits_of(a.type));
  const bool shared = space == "shared";
  made.lines = {"mov.u32 %w0, %tid.x",
                "mul.wide.u32 %x1, %w0, 32",
                std::string("sub.s64 %x1, ") + (shared ? "%board" : "%cell") + ", %x1",
                "mov.u64 %x0, %x1",
                "setp.eq.u32 %q0, %w0, 0",
                "mov.b64 %x2, 0",
                "@%q0 st." + space + ".u64 [%x1], %x2",
                "bar.sync 0"};
  if (a.space == "generic") made.lines.push_back("cvta." + space + ".u64 %x0, %x1");
  made.lines.push_back(o.text + (o.name() == "atom" ? " $0, [%x0], #0" : " [%x0], #0"));
  made.lines.emplace_back("bar.sync 0");
  made.lines.push_back("ld." + space + width + " $0, [%x1]");
  made.guard = Case::Guard::all;
  made.block = [=](const std::vector<Words>& threads, const std::vector<char>&) {
    std::uint64_t value = 0;
    for (const Words& w : threads) value = updated(a, value, {w[0], 0});
    return std::vector<Words>(threads.size(), Words{value});
  };
  return made;
}

}  // namespace

std::vector<Case> atomic_cases(const Opcode& o) {
  if (o.name() != "atom" && o.name() != "red") return {};
  const Atomic a(o);
  if (a.what.empty()) return {};
  std::vector<std::string> spaces{a.space};
  if (a.space == "generic") spaces = {"global", "shared"};
  const bool plain = !o.has("cta") && !o.has("gpu") && !o.has("sys");
  const bool any_order = plain && !is_float(a.type) && a.what != "cas" && a.what != "exch" &&
                         a.what != "inc" && a.what != "dec";
  std::vector<Case> made;
  for (const std::string& space : spaces) {
    made.push_back(own_word(o, a, space));
    if (any_order) made.push_back(one_word(o, a, space));
  }
  return made;
}

}  // namespace lockstep::paper::test
