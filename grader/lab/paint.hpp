// Colours on a terminal, and nothing elsewhere.
#pragma once

#include <string>

#include "grader/course/compile/student_build.hpp"

namespace lockstep::grader {

inline std::string painted(Paint paint, const char* code, const std::string& words) {
  if (paint == Paint::plain) return words;
  return std::string("\x1b[") + code + "m" + words + "\x1b[0m";
}
inline std::string bold(Paint paint, const std::string& words) {
  return painted(paint, "1", words);
}
inline std::string faint(Paint paint, const std::string& words) {
  return painted(paint, "2", words);
}
inline std::string green(Paint paint, const std::string& words) {
  return painted(paint, "32", words);
}
inline std::string red(Paint paint, const std::string& words) {
  return painted(paint, "31", words);
}
inline std::string yellow(Paint paint, const std::string& words) {
  return painted(paint, "33", words);
}

}  // namespace lockstep::grader
