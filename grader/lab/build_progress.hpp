// How far a build is, from ninja's lines: one line of a terminal that changes, and a few lines
// where there is none, so that a log stays short. ./lab says the same while it builds
// (setup/build.sh).
#pragma once

#include <string>

namespace lockstep::grader {

class BuildProgress {
 public:
  enum class Shown : unsigned char { on_a_terminal, in_a_log };
  // ninja's lines then have the seconds since its start behind their counters.
  static constexpr const char* ninja_status = "NINJA_STATUS=[%f/%t] %e ";

  //   plan  what `ninja -n` prints, where that is known: a share of the work, rather than of the
  //         steps, is what the time that is left is estimated from
  explicit BuildProgress(Shown shown, const std::string& plan = "");

  // The text to print at one of ninja's lines; "" for nothing. "[12/80] 3.215 Building CXX object
  // engine/comm/…" is a step that has ended. Other lines count for nothing, and nor does "[0/2] …",
  // a look at what there is.
  std::string heard(const std::string& line);
  // The text to print after that many seconds, because the first step may take long.
  std::string waited(double seconds);
  // The text to print at the end of the build.
  std::string ended() const;

 private:
  std::string time_left(double seconds, int done, int all) const;

  Shown shown_;
  bool begun_ = false;
  int next_ = 0;                  // the step after which a log has its next line
  int steps_ = 0;                 // of the plan
  double work_ = 0, worked_ = 0;  // of the plan; of the steps that have ended
};

}  // namespace lockstep::grader
