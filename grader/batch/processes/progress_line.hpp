// How far a class is: on a terminal one line that is written again, elsewhere a line now and then.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace lockstep::grader {

enum class Watcher : unsigned char { terminal, file };

class ProgressLine {
 public:
  explicit ProgressLine(Watcher watcher) : watcher_(watcher) {}

  // The line to print when `done` of `of` files are judged, `seconds` after the first was begun, if
  // anything. `last` is what was just judged, for a terminal.
  std::optional<std::string> after(std::size_t done, std::size_t of, double seconds,
                                   const std::string& last);

 private:
  Watcher watcher_;
  double printed_s_ = 0;
};

}  // namespace lockstep::grader
