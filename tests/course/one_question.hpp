// The file of a quiz with one question, "q".
#pragma once

#include <string>

namespace lockstep::test {

//   rules  the type, the options, the answer and what judges it
inline std::string one_question(const std::string& rules) {
  return "about = \"tests\"\n\n[[question]]\nid = \"q\"\ntitle = \"t\"\ntext = \"what?\"\n" + rules;
}

}  // namespace lockstep::test
