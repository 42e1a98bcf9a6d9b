// What a run under the launcher leaves behind: processes, files, shared memory, ports. Every
// process of the run inherits a mark and a folder for temporary files of its own.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/launch/process.hpp"
#include "tests/course/scratch.hpp"

namespace lockstep::test {

// The value of a variable that a process was started with; empty where it has none or is gone.
std::string variable_of(pid_t pid, const std::string& name);

class Leftovers {
 public:
  Leftovers();

  // What the run must find in its environment: the mark and the folder.
  std::vector<std::string> variables() const;

  // The process that the launcher started as this rank, if it is there.
  std::optional<pid_t> process_of_rank(int rank) const;
  // Whether the run's last process has ended within this time.
  bool wait_for_processes(double seconds) const;

  // Sentences: processes (killed then), temporary files, shared memory, and listening ports among
  // those that ranks printed as "store PORT master PORT".
  std::vector<std::string> found(const std::string& printed) const;

 private:
  std::vector<pid_t> processes(const std::string& entry) const;
  Scratch temporary_;
  std::string mark_;
  std::set<std::string> shared_before_;
};

}  // namespace lockstep::test
