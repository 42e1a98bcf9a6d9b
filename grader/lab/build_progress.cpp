#include "grader/lab/build_progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

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

// How long a step takes beside others: a compiler works for seconds, an archiver does not.
double work_of(const std::string& line) {
  if (line.find("cmake_pch") != std::string::npos) return 4;
  if (line.find("Precompiling") != std::string::npos) return 3;
  return line.find("Building C") != std::string::npos ? 1 : 0.05;
}

}  // namespace

BuildProgress::BuildProgress(Shown shown, const std::string& plan) : shown_(shown) {
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    int step = 0;
    if (std::sscanf(line.c_str(), "[%d/%d] ", &step, &steps_) == 2) work_ += work_of(line);
  }
}

// Nothing before a tenth is done: the first steps say little of the others.
std::string BuildProgress::time_left(double seconds, int done, int all) const {
  constexpr double said_from_s = 2, least_share = 0.1;
  const double share = work_ > 0 ? std::min(1.0, worked_ / work_) : 1.0 * done / all;
  if (seconds < said_from_s || share < least_share) return "";
  const double left = seconds * (1 - share) / share;
  if (left < 1) return "";
  if (left >= 90) return text(", about ", std::lround(left / 60), " minutes left");
  const long unit = left < 10 ? 1 : 5;
  return text(", about ", std::lround(left / static_cast<double>(unit)) * unit, " s left");
}

std::string BuildProgress::heard(const std::string& line) {
  int done = 0, all = 0;
  double seconds = 0;
  if (std::sscanf(line.c_str(), "[%d/%d] %lf ", &done, &all, &seconds) < 2 || done == 0) return "";
  worked_ += work_of(line);
  const bool first = !begun_;
  if (shown_ == Shown::on_a_terminal) {
    begun_ = true;
    return text("\r  building [", done, "/", all, "]", folder_in(line),
                time_left(seconds, done, all), "\033[K");
  }
  // The steps are counted anew after it.
  if (line.find("Re-running CMake") != std::string::npos) return "";
  begun_ = true;
  const bool is_long = all >= steps_of_long_build;
  if (first) {
    next_ = all / 4;
    return is_long ? text("building: ", all, " steps…\n") : "building…\n";
  }
  if (!is_long || done < next_ || done + all / 4 > all) return "";
  next_ = done + all / 4;
  return text("building: ", done, " of ", all, " steps", time_left(seconds, done, all), "\n");
}

std::string BuildProgress::waited(double seconds) {
  if (shown_ == Shown::in_a_log || begun_ || seconds < 1) return "";
  begun_ = true;
  if (steps_ > 0) return text("\r  building [0/", steps_, "]\033[K");
  return "\r  building…\033[K";
}

std::string BuildProgress::ended() const {
  return shown_ == Shown::on_a_terminal && begun_ ? clear_line : "";
}

}  // namespace lockstep::grader
