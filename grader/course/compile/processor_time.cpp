#include "grader/course/compile/processor_time.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

struct Process {
  pid_t parent = 0;
  long ticks = 0;
};

// Reads /proc/PID/stat. The name in parentheses may hold anything, so fields count from the last
// ")".
Process process_of(const fs::path& folder) {
  std::ifstream in(folder / "stat");
  std::string line;
  std::getline(in, line);
  std::istringstream fields(line.substr(std::min(line.rfind(')'), line.size())));
  std::string word;
  Process process;
  constexpr int before_parent = 2, between = 9;
  for (int i = 0; i < before_parent; ++i) fields >> word;  // ")" and the state
  fields >> process.parent;
  for (int i = 0; i < between; ++i) fields >> word;
  for (int i = 0; i < 4; ++i) {  // utime, stime, cutime, cstime
    long ticks = 0;
    fields >> ticks;
    process.ticks += ticks;
  }
  return process;
}

std::map<pid_t, Process> all_processes() {
  std::map<pid_t, Process> all;
  std::error_code ended;
  for (const auto& entry : fs::directory_iterator("/proc", ended)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec == std::errc{} && read.ptr == name.data() + name.size()) {
      all[pid] = process_of(entry.path());
    }
  }
  return all;
}

}  // namespace

double processor_seconds_of_tree(pid_t root) {
  const auto all = all_processes();
  const auto below_root = [&](pid_t pid) {
    // A tree that changes while it is read could show a circle.
    for (std::size_t steps = 0; steps < all.size(); ++steps) {
      if (pid == root) return true;
      const auto found = all.find(pid);
      if (found == all.end()) return false;
      pid = found->second.parent;
    }
    return false;
  };
  long ticks = 0;
  for (const auto& [pid, process] : all) ticks += below_root(pid) ? process.ticks : 0;
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace lockstep::grader
