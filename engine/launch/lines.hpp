// Output of one rank, cut into whole lines, so that lines of different ranks never mix.
#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace lockstep::launch {

class Lines {
 public:
  // Lines go to descriptor `target` (1 or 2), each behind `prefix`.
  Lines(int target, std::string prefix, std::deque<std::string>& last)
      : target_(target), prefix_(std::move(prefix)), last_(last) {}

  void add(std::string_view part);
  void finish();  // an unfinished last line is a line

 private:
  void put(std::string_view line);
  int target_;
  std::string prefix_;
  std::string rest_;
  std::deque<std::string>& last_;  // the rank's last lines, for the report
};

}  // namespace lockstep::launch
