// A program as a person meets it: started, its output read, its end waited for. Never longer than
// 60 s.
#pragma once

#include <string>
#include <vector>

#include "engine/launch/process.hpp"

namespace lockstep::test {

// lockstep-run with these arguments, its two streams read into one text.
class Run {
 public:
  explicit Run(const std::vector<std::string>& arguments);

  // Reads until `part` was seen or the output ended; false then, and after 60 s.
  bool read_until(const std::string& part);
  // The number that stands in the output right after `part`, once its line is complete.
  int number_after(const std::string& part);
  const std::string& seen() const { return seen_; }
  pid_t pid() const { return process_.pid(); }
  // Waits for the end; the exit code, or -signal.
  int finish();

  // Any program, with these variables set beside our own environment.
  static Run of(const std::vector<std::string>& command,
                const std::vector<std::string>& variables = {});

 private:
  explicit Run(const launch::ProcessOptions& options) : process_(options) {}
  bool read_some(comm::Deadline deadline);

  launch::Process process_;
  std::string seen_;
};

// Arguments of lockstep-run: `ranks` times this shell script.
std::vector<std::string> shell(int ranks, const std::string& script);

// Whether the process group has a member that is no zombie, and whether it loses the last within
// 60 s: a kill takes effect when the process is scheduled next.
bool lives(pid_t group);
bool dies(pid_t group);

}  // namespace lockstep::test
