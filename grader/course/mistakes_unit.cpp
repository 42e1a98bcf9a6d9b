#include "grader/course/mistakes_unit.hpp"

#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/shared_unit.hpp"

namespace lockstep::grader {
namespace {

std::string quoted(const std::string& words) {
  std::string literal = "\"";
  for (const char c : words) {
    if (c == '"' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal + '"';
}

// The lines of `more` that `includes` does not have are added to it.
void add_lines(const std::string& more, std::string& includes) {
  std::istringstream lines(more);
  for (std::string line; std::getline(lines, line);) {
    if (("\n" + includes).find("\n" + line + "\n") == std::string::npos) includes += line + "\n";
  }
}

std::string list_of(const std::string& entries, const std::string& function,
                    const std::string& exam) {
  return text("#line 1 \"the list of mistakes\"\n#include \"grader/exam/known_mistakes.hpp\"\n\n",
              "namespace ", exam, " {\n\nstd::vector<KnownMistake<decltype(", function,
              ")>> known_mistakes() {\n  return {", entries, "};\n}\n\n}  // namespace ", exam,
              "\n");
}

}  // namespace

std::string mistakes_unit(const std::string& reference, const std::vector<Mutant>& mutants,
                          const std::string& function, const std::string& exam) {
  const std::size_t own_name = function.rfind("::") + 2;
  std::string includes, entries;
  std::vector<UnitPart> parts;
  std::vector<std::string> files;
  for (const Mutant& mutant : mutants) {
    if (mutant.likely.empty() || mutant.verdict != "wrong answer") continue;
    const std::string inner = "mistake_" + mutant.name;
    auto part = unit_part(mutated(reference, mutant), inner);
    if (!part) {
      throw UsageError(text(mutant.edits.front().where, ": the mutant '", mutant.name,
                            "' cannot be compiled together with others; leave out its 'likely'"));
    }
    add_lines(part->includes, includes);
    entries += text("\n      {{", quoted(mutant.name), ", ", quoted(mutant.likely), "}, ",
                    function.substr(0, own_name), inner, "::", function.substr(own_name), "},");
    parts.push_back(std::move(*part));
    files.push_back("mutant " + mutant.name);
  }
  if (parts.empty()) throw UsageError(function + ": no mutant that is a wrong answer has 'likely'");
  parts.front().includes = includes;
  return unit_of(parts, files) + list_of(entries, function, exam);
}

}  // namespace lockstep::grader
