// Refuses texts that a TOML parser should not be given: a text in another encoding, one so deeply
// nested that the parser's recursion would use up the stack, or one with letters beyond ASCII
// outside quotes and comments. No TOML has the latter, and toml++ 3.3 runs into undefined behaviour
// on most of them (is_non_ascii_horizontal_whitespace).
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
