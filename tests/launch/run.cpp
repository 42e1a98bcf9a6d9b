#include "tests/launch/run.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/launch/own_environment.hpp"

namespace lockstep::test {

namespace {

using launch::ProcessOptions;

constexpr double patience_s =
    300;  // then a run that has not got on hangs, however busy the machine

ProcessOptions options_of(const std::vector<std::string>& command,
                          const std::vector<std::string>& variables) {
  ProcessOptions options;
  options.command = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"};
  options.command.insert(options.command.end(), command.begin(), command.end());
  options.environment = own_environment_with(variables);
  sigemptyset(&options.signal_mask);
  return options;
}

std::vector<std::string> launcher_with(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{LOCKSTEP_RUN};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

Run::Run(const std::vector<std::string>& arguments)
    : Run(options_of(launcher_with(arguments), {})) {}

Run Run::of(const std::vector<std::string>& command, const std::vector<std::string>& variables) {
  return Run(options_of(command, variables));
}

bool Run::read_until(const std::string& part) {
  const auto deadline = comm::deadline_after(patience_s);
  while (seen_.find(part) == std::string::npos) {
    if (!read_some(deadline)) return false;
  }
  return true;
}

int Run::number_after(const std::string& part) {
  if (!read_until(part)) FAIL("the output ended without " << part << ":\n" << seen_);
  const auto start = seen_.find(part) + part.size();
  const auto deadline = comm::deadline_after(patience_s);
  while (seen_.find('\n', start) == std::string::npos && read_some(deadline)) {
  }
  return std::stoi(seen_.substr(start));
}

int Run::finish() {
  const auto deadline = comm::deadline_after(patience_s);
  while (read_some(deadline)) {
  }
  while (true) {
    pollfd entry{process_.exit_fd(), POLLIN, 0};
    if (poll(&entry, 1, comm::poll_ms_until(deadline)) == 0) FAIL("it did not end:\n" << seen_);
    if (const auto status = process_.try_reap()) {
      return WIFEXITED(*status) ? WEXITSTATUS(*status) : -WTERMSIG(*status);
    }
  }
}

bool Run::read_some(comm::Deadline deadline) {
  comm::Descriptor& from = process_.output();
  pollfd entry{from.get(), POLLIN, 0};
  if (poll(&entry, 1, comm::poll_ms_until(deadline)) <= 0) return false;
  char part[4096];
  const ssize_t got = read(from.get(), part, sizeof part);
  if (got > 0) seen_.append(part, static_cast<std::size_t>(got));
  return got > 0;
}

std::vector<std::string> shell(int ranks, const std::string& script) {
  return {"--ranks", std::to_string(ranks), "--", "/bin/sh", "-c", script};
}

bool lives(pid_t group) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    std::istringstream rest(line.substr(line.rfind(')') + 1));  // after "pid (name)"
    char state = 0;
    pid_t parent = 0, its_group = 0;
    rest >> state >> parent >> its_group;
    if (its_group == group && state != 'Z') return true;
  }
  return false;
}

bool dies(pid_t group) {
  const auto deadline = comm::deadline_after(patience_s);
  while (lives(group)) {
    if (comm::poll_ms_until(deadline) == 0) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

}  // namespace lockstep::test
