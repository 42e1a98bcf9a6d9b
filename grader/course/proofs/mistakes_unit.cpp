#include "grader/course/proofs/mistakes_unit.hpp"

#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/proofs/shared_unit.hpp"

namespace lockstep::grader {
namespace {

std::string inner_name(const std::string& mutant) { return "mistake_" + mutant; }

// The lines of `more` that `includes` does not have are added to it.
void add_lines(const std::string& more, std::string& includes) {
  std::istringstream lines(more);
  for (std::string line; std::getline(lines, line);) {
    if (("\n" + includes).find("\n" + line + "\n") == std::string::npos) includes += line + "\n";
  }
}

// Registers that no argument is passed in are free at a call: r11 and rax; x16 and x17.
constexpr const char* head = R"(#include <cstdlib>

extern "C" {
  unsigned long lockstep_mistake = 0;
  __attribute__((constructor)) void lockstep_choose_mistake(int words, char** word) {
    if (words > 1) lockstep_mistake = std::strtoul(word[1], nullptr, 10);
  }
}
#if defined(__x86_64__)
#define JUMP(name, table)                                                          \
  asm(".text\n.globl " name "\n.type " name ", @function\n" name ":\n"             \
      "movq lockstep_mistake(%rip), %rax\nleaq " table "(%rip), %r11\n"            \
      "jmpq *(%r11,%rax,8)\n");
#elif defined(__aarch64__)
#define JUMP(name, table)                                                          \
  asm(".text\n.globl " name "\n.type " name ", %function\n" name ":\n"             \
      "adrp x16, lockstep_mistake\nldr x16, [x16, :lo12:lockstep_mistake]\n"       \
      "adrp x17, " table "\nadd x17, x17, :lo12:" table "\n"                       \
      "ldr x16, [x17, x16, lsl 3]\nbr x16\n");
#endif
)";

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    names.push_back(line.substr(0, line.find('\t')));
  }
  return names;
}

}  // namespace

MistakesUnit mistakes_unit(const std::string& reference, const std::vector<Mutant>& mutants) {
  std::string includes, list;
  std::vector<UnitPart> parts;
  std::vector<std::string> files;
  for (const Mutant& mutant : mutants) {
    if (mutant.likely.empty() || mutant.first.empty()) continue;
    auto part = unit_part(mutated(reference, mutant), inner_name(mutant.name));
    if (!part) {
      throw UsageError(text(mutant.edits.front().where, ": the mutant '", mutant.name,
                            "' cannot be compiled together with others; leave out its 'likely'"));
    }
    add_lines(part->includes, includes);
    list += text(mutant.name, "\t", mutant.first, "\t", mutant.likely, "\n");
    parts.push_back(std::move(*part));
    files.push_back("mutant " + mutant.name);
  }
  if (parts.empty()) throw UsageError("no mutant has both 'likely' and 'first'");
  parts.front().includes = includes;
  return {unit_of(parts, files), list};
}

std::string mistakes_table(const LinkedNames& part, const std::vector<Symbol>& unit,
                           const std::string& list) {
  std::string source = head;
  const std::vector<std::string> mutants = names_in(list);
  for (const auto& [written, linked] : part) {
    std::string entries = ".quad 0\\n";
    for (const std::string& mutant : mutants) {
      const LinkedNames own = linked_names_of(unit, inner_name(mutant));
      const auto found = own.find(written);
      if (found == own.end()) {
        throw UsageError(text("the mutant '", mutant, "' does not define ", written,
                              "; leave out its 'likely'"));
      }
      entries += ".quad " + found->second + "\\n";
    }
    const std::string table = "mistakes_of_" + linked;
    source += text("asm(\".section .data.rel.ro,\\\"aw\\\"\\n.balign 8\\n", table, ":\\n", entries,
                   "\");\nJUMP(\"", linked, "\", \"", table, "\")\n");
  }
  return source;
}

}  // namespace lockstep::grader
