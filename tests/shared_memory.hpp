// What lies in the machine's shared memory under a name.
#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

namespace lockstep::test {

inline std::set<std::string> shared_memory() {
  std::set<std::string> names;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", gone)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// Of what was not there before, what stays: other programs of this machine take theirs away again.
inline std::set<std::string> shared_memory_left(const std::set<std::string>& before) {
  std::set<std::string> left = shared_memory();
  std::erase_if(left, [&](const std::string& name) { return before.contains(name); });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!left.empty() && std::chrono::steady_clock::now() < until) {
    const std::set<std::string> now = shared_memory();
    std::erase_if(left, [&](const std::string& name) { return !now.contains(name); });
    if (!left.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return left;
}

}  // namespace lockstep::test
