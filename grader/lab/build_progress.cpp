#include "grader/lab/build_progress.hpp"

#include <cstdio>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

// A build of fewer steps is short, and a log says only that it runs.
constexpr int steps_of_long_build = 20;
constexpr const char* clear_line = "\r\033[K";

// " engine/comm" of "… object engine/comm/CMakeFiles/…"; "" of lines that name no object.
std::string folder_in(const std::string& line) {
  const std::string mark = " object ";
  const std::size_t at = line.find(mark), end = line.find("/CMakeFiles", at);
  if (at == std::string::npos || end == std::string::npos) return "";
  return " " + line.substr(at + mark.size(), end - at - mark.size());
}

}  // namespace

std::string BuildProgress::heard(const std::string& line) {
  int done = 0, all = 0;
  if (std::sscanf(line.c_str(), "[%d/%d] ", &done, &all) != 2 || done == 0) return "";
  const bool first = !begun_;
  if (shown_ == Shown::on_a_terminal) {
    begun_ = true;
    return text("\r  building [", done, "/", all, "]", folder_in(line), "\033[K");
  }
  // The steps are counted anew after it.
  if (line.find("] Re-running CMake") != std::string::npos) return "";
  begun_ = true;
  const bool is_long = all >= steps_of_long_build;
  if (first) {
    next_ = all / 4;
    return is_long ? text("building: ", all, " steps…\n") : "building…\n";
  }
  if (!is_long || done < next_ || done + all / 4 > all) return "";
  next_ = done + all / 4;
  return text("building: ", done, " of ", all, " steps\n");
}

std::string BuildProgress::waited(double seconds) {
  if (shown_ == Shown::in_a_log || begun_ || seconds < 1) return "";
  begun_ = true;
  return "\r  building…\033[K";
}

std::string BuildProgress::ended() const {
  return shown_ == Shown::on_a_terminal && begun_ ? clear_line : "";
}

}  // namespace lockstep::grader
