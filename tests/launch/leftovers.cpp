#include "tests/launch/leftovers.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "engine/base/text.hpp"
#include "tests/shared_memory.hpp"

namespace lockstep::test {

namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// Its variables as the kernel has them, each between two zeros. A zombie has none.
std::string environment_of(const std::string& pid) {
  std::ifstream file(fs::path("/proc") / pid / "environ", std::ios::binary);
  return '\0' + std::string{std::istreambuf_iterator<char>(file), {}};
}

// Ports in state LISTEN, by the kernel's own table.
std::set<int> listening_ports() {
  std::set<int> ports;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string number, local, remote, state;
      words >> number >> local >> remote >> state;
      if (state == "0A") ports.insert(std::stoi(local.substr(local.rfind(':') + 1), nullptr, 16));
    }
  }
  return ports;
}

}  // namespace

std::string variable_of(pid_t pid, const std::string& name) {
  const std::string all = environment_of(text(pid)), begin = '\0' + name + "=";
  const auto at = all.find(begin);
  if (at == std::string::npos) return "";
  const auto from = at + begin.size();
  return all.substr(from, all.find('\0', from) - from);
}

Leftovers::Leftovers()
    : mark_("LOCKSTEP_LEFTOVERS=" + temporary_.path().string()), shared_before_(shared_memory()) {}

std::vector<std::string> Leftovers::variables() const {
  return {mark_, "TMPDIR=" + temporary_.path().string()};
}

std::vector<pid_t> Leftovers::processes(const std::string& entry) const {
  std::vector<pid_t> found;
  for (const std::string& name : names_in("/proc")) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string all = environment_of(name);
    const auto has = [&](const std::string& one) {
      return all.find('\0' + one + '\0') != std::string::npos;
    };
    if (has(mark_) && (entry.empty() || has(entry))) found.push_back(std::stoi(name));
  }
  return found;
}

std::optional<pid_t> Leftovers::process_of_rank(int rank) const {
  const auto found = processes(text("RANK=", rank));
  return found.empty() ? std::nullopt : std::optional(found.front());
}

bool Leftovers::wait_for_processes(double seconds) const {
  const auto deadline = comm::deadline_after(seconds);
  while (!processes("").empty()) {
    if (comm::poll_ms_until(deadline) == 0) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

std::vector<std::string> Leftovers::found(const std::string& printed) const {
  std::vector<std::string> left;
  for (const pid_t pid : processes("")) {
    left.push_back(text("process ", pid));
    kill(pid, SIGKILL);
  }
  for (const std::string& name : names_in(temporary_.path())) left.push_back("file " + name);
  for (const std::string& name : shared_memory_left(shared_before_)) {
    left.push_back("shared memory " + name);
  }
  const std::set<int> listening = listening_ports();
  for (const char* word : {"] store ", " master "}) {
    const auto at = printed.find(word);
    if (at == std::string::npos) continue;
    const int port = std::stoi(printed.substr(at + std::string(word).size()));
    if (listening.contains(port)) left.push_back(text("port ", port));
  }
  return left;
}

}  // namespace lockstep::test
