// What a TOML parser should not be given: a text in another encoding, or one so deeply nested that
// the parser's recursion would use up the stack.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::grader {

struct TomlProblem {
  int line = 0;  // 0: of the file as a whole
  std::string sentence;
};

// The first problem of the text; nothing where it can be parsed. A pure function.
std::optional<TomlProblem> unfit_for_toml(std::string_view content);

}  // namespace lockstep::grader
