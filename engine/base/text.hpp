// Text from values, since the toolchain floor has no <format>: text("rank ", 3, " of ", n).
#pragma once

#include <sstream>
#include <string>

namespace lockstep {

template <typename... Values>
std::string text(const Values&... values) {
  std::ostringstream out;
  (out << ... << values);
  return out.str();
}

}  // namespace lockstep
