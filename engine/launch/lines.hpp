// Output of one rank. With a prefix it is cut into whole lines, so that lines of different ranks
// never mix; without one the bytes go on as they come. A copy may go into a log file.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::launch {

class Lines {
 public:
  // Output goes to descriptor `target` (1 or 2), and as it is to `log` unless that is -1.
  Lines(int target, std::optional<std::string> prefix, std::deque<std::string>& last, int log = -1)
      : target_(target), log_(log), prefix_(std::move(prefix)), last_(last) {}

  void add(std::string_view part);
  void finish();                                // an unfinished last line is a line
  int log_error() const { return log_error_; }  // why the log is not whole, or 0

 private:
  void put(std::string_view line);
  void print(std::string_view bytes) const;
  int target_, log_;
  int log_error_ = 0;
  std::optional<std::string> prefix_;
  std::string rest_;
  std::deque<std::string>& last_;  // the rank's last lines, for the report
};

}  // namespace lockstep::launch
