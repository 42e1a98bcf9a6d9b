// How far a build is, from ninja's lines: one line of a terminal that changes, and a few lines
// where there is none, so that a log stays short. ./lab says the same while it builds
// (setup/build.sh).
#pragma once

#include <string>

namespace lockstep::grader {

class BuildProgress {
 public:
  enum class Shown : unsigned char { on_a_terminal, in_a_log };
  explicit BuildProgress(Shown shown) : shown_(shown) {}

  // The text to print at one of ninja's lines; "" for nothing. "[12/80] Building CXX object
  // engine/comm/…" is a step that has ended. Other lines count for nothing, and nor does "[0/2] …",
  // a look at what there is.
  std::string heard(const std::string& line);
  // The text to print after that many seconds, because the first step may take long.
  std::string waited(double seconds);
  // The text to print at the end of the build.
  std::string ended() const;

 private:
  Shown shown_;
  bool begun_ = false;
  int next_ = 0;  // the step after which a log has its next line
};

}  // namespace lockstep::grader
