// Runs another program (a compiler, nm) without a shell, with a deadline and a cap on its output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::grader {

struct CommandLimits {
  double deadline_s = 20;
  // Above 0, a busy machine ends nothing: deadline_s is then how long its processes may get hardly
  // anywhere, and this is the processor time that they may use in all.
  double work_s = 0;
  std::size_t output_bytes = 256 << 10;  // more is read and thrown away
  std::size_t flood_bytes = SIZE_MAX;    // a command that writes more is ended
  // The limits of each of its processes; 0: no limit.
  std::size_t memory_bytes = 0;  // address space
  std::size_t cpu_s = 0;         // processor time
  std::size_t file_bytes = 0;    // of a file it writes
  int stop = -1;                 // a descriptor; when there is something to read, it is ended
};

struct CommandResult {
  int exit_code = 0;       // 128 + signal when a signal ended it
  bool timed_out = false;  // killed at a limit of time, with everything it had started
  bool stopped = false;    // killed likewise, because limits.stop had something to read
  bool flooded = false;    // killed likewise, because it wrote more than limits.flood_bytes
  std::string output;      // stdout and stderr together
  double seconds = 0;      // wall time
  double processor_s = 0;  // of all its processes that were waited for
  CommandLimits limits{};  // it ran under these
};

// argv[0] is looked up in PATH. Runs in `folder`, and hears all signals. `heard` gets each line of
// output as it comes; `waits` is called every second with the seconds since the start.
//   Throws  Error when the program cannot be started
CommandResult run_command(const std::vector<std::string>& argv, const std::filesystem::path& folder,
                          const CommandLimits& limits,
                          const std::function<void(const std::string& line)>& heard = {},
                          const std::function<void(double seconds)>& waits = {});

}  // namespace lockstep::grader
