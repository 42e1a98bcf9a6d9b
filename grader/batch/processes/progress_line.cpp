#include "grader/batch/processes/progress_line.hpp"

#include <cmath>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::grader {
namespace {

constexpr double interval_s = 30;

// At the speed up to here; too early to say during the first seconds.
std::string time_left(std::size_t done, std::size_t of, double seconds) {
  if (done == 0 || seconds < 5) return "";
  const double left = seconds / static_cast<double>(done) * static_cast<double>(of - done);
  if (left < 90) return text(", about ", std::lround(left), " s left");
  if (left < 5400) return text(", about ", std::lround(left / 60), " min left");
  return text(", about ", std::round(left / 360) / 10, " h left");
}

}  // namespace

std::optional<std::string> ProgressLine::after(std::size_t done, std::size_t of, double seconds,
                                               const std::string& last) {
  if (watcher_ == Watcher::terminal) {
    return text("\r\033[K", done, " of ", of, time_left(done, of, seconds), "  ", last,
                done == of ? "\r\033[K" : "");
  }
  if (done == of || seconds - printed_s_ < interval_s) return std::nullopt;
  printed_s_ = seconds;
  return text(done, " of ", counted(of, "file"), " judged", time_left(done, of, seconds), "\n");
}

}  // namespace lockstep::grader
