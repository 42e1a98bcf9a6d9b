// ld and st in each space, of one element or a vector.
#include <algorithm>

#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

struct Access {
  explicit Access(const Opcode& o) : type(o.type()), bits(bits_of(o.type())) {
    for (const char* part : {"global", "shared", "local", "const", "param"})
      if (o.has(part)) space = part;
    count = o.has("v2") ? 2 : o.has("v4") ? 4 : 1;
  }
  std::string type, space = "generic";
  int bits = 0;
  std::size_t count = 1;
};

// The 16 bytes that two operands bring, or that stand in the parameters.
std::uint64_t element_of(const Access& a, const Words& bytes, std::size_t i) {
  const std::size_t place = i * static_cast<std::size_t>(a.bits);
  return cut(bytes[place / 64] >> (place % 64), a.bits);
}
Words fixed_bytes(std::uint64_t from) {
  Words words{0, 0};
  for (std::uint64_t i = 16; i-- > 0;)
    words[i / 8] = words[i / 8] << 8 | (37 * (i + from) + 131) % 256;
  return words;
}

std::string named(const std::string& mark, std::size_t count) {
  std::string text = count > 1 ? "{" : "";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? mark : "," + mark) + std::to_string(i);
  return text + (count > 1 ? "}" : "");
}

// Lines that put an address of the space in %x1 for named accesses, and in %x0 for the opcode's.
std::vector<std::string> addresses(const std::string& space, bool generic) {
  const std::string own = space == "shared" ? "%board" : space == "local" ? "own_~" : "%cell";
  std::vector<std::string> lines{"mov.u64 %x1, " + own, "mov.u64 %x0, %x1"};
  if (generic) lines.push_back("cvta." + space + ".u64 %x0, %x1");
  return lines;
}

Case load_case(const Opcode& o, const Access& a, const std::string& space) {
  const bool fixed = space == "const" || space == "param";
  Case made = plain_case(o, std::vector<std::string>(a.count, a.type), {}, [=](const Words& w) {
    const Words bytes = fixed ? fixed_bytes(16) : w;
    Words results;
    for (std::size_t i = 0; i < a.count; ++i) results.push_back(element_of(a, bytes, i));
    return results;
  });
  if (fixed) {
    made.lines = {"mov.u64 %x0, sheet", o.text + " " + named("$", a.count) +
                                            (space == "const" ? ", [%x0+16]" : ", [blob+16]")};
    return made;
  }
  made.operands = {"b64", "b64"};
  made.lines = addresses(space, a.space == "generic");
  made.lines.push_back("st." + space + ".v2.u64 [%x1+16], {#0, #1}");
  made.lines.push_back(o.text + " " + named("$", a.count) + ", [%x0+16]");
  return made;
}

// Into a register of 32 bits, by the type's own sign.
Case extending_load(const Opcode& o, const Access& a, const std::string& space) {
  Case made = load_case(o, a, space);
  made.results.assign(a.count, "b32");
  const auto narrow = made.thread;
  made.thread = [=](const Words& w) {
    Words results = narrow(w);
    for (std::uint64_t& word : results)
      word = static_cast<std::uint64_t>(static_cast<UWide>(number_of(a.type, word)));
    return results;
  };
  return made;
}

Case store_case(const Opcode& o, const Access& a, const std::string& space) {
  const std::string value = a.bits == 8 ? "b16" : a.type;
  Case made =
      plain_case(o, {"b64", "b64"}, std::vector<std::string>(a.count, value), [=](const Words& w) {
        Words bytes{0, 0};
        for (std::size_t i = 0; i < a.count; ++i) {
          const std::size_t place = i * static_cast<std::size_t>(a.bits);
          bytes[place / 64] |= cut(w[i], a.bits) << (place % 64);
        }
        return bytes;
      });
  made.lines = addresses(space, a.space == "generic");
  made.lines.emplace_back("mov.u64 %x2, 0");
  made.lines.push_back("st." + space + ".v2.u64 [%x1+16], {%x2, %x2}");
  made.lines.push_back(o.text + " [%x0+16], " + named("#", a.count));
  made.lines.push_back("ld." + space + ".v2.u64 {$0, $1}, [%x1+16]");
  return made;
}

// st.param writes an argument of a call; the function gives its 16 bytes back.
Case argument_case(const Opcode& o, const Access& a) {
  Case made = store_case(o, a, "local");
  made.functions =
      ".func (.param .align 16 .b8 back[16]) echo_~(.param .align 16 .b8 given[16])\n{\n"
      ".reg .b64 %e<2>;\nld.param.b64 %e0, [given];\nld.param.b64 %e1, [given+8];\n"
      "st.param.b64 [back], %e0;\nst.param.b64 [back+8], %e1;\nret;\n}\n";
  made.lines = {"{",
                ".param .align 16 .b8 given_~[16]",
                ".param .align 16 .b8 back_~[16]",
                "st.param.b64 [given_~], 0",
                "st.param.b64 [given_~+8], 0",
                o.text + " [given_~], " + named("#", a.count),
                "call.uni (back_~), echo_~, (given_~)",
                "ld.param.b64 $0, [back_~]",
                "ld.param.b64 $1, [back_~+8]",
                "}"};
  made.guard = Case::Guard::all;
  return made;
}

}  // namespace

std::vector<Case> access_cases(const Opcode& o) {
  const bool loads = o.name() == "ld" || o.name() == "ldu";
  if (!loads && o.name() != "st") return {};
  const Access a(o);
  if (!loads && a.space == "param") return {argument_case(o, a)};
  std::vector<std::string> spaces{a.space};
  if (a.space == "generic") spaces = {"global", "shared", "local"};
  std::vector<Case> made;
  for (const std::string& space : spaces) {
    made.push_back(loads ? load_case(o, a, space) : store_case(o, a, space));
  }
  if (loads && a.bits < 32 && !is_float(a.type)) {
    made.push_back(extending_load(o, a, spaces.front()));
  }
  return made;
}

}  // namespace lockstep::paper::test
