#include "grader/course/compile/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "engine/base/error.hpp"
#include "grader/course/compile/processor_time.hpp"

namespace lockstep::grader {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr int not_started = 127;

// Between fork and exec only calls that are safe after fork in a threaded program.
[[noreturn]] void become(char* const* argv, const char* folder, int output,
                         const CommandLimits& limits) {
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const auto limit = [](auto resource, std::size_t value) {
    const rlimit both{value, value};
    if (value > 0) ::setrlimit(resource, &both);
  };
  limit(RLIMIT_AS, limits.memory_bytes);
  limit(RLIMIT_CPU, limits.cpu_s);
  limit(RLIMIT_FSIZE, limits.file_bytes);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  if (::chdir(folder) == 0) ::execvp(argv[0], argv);
  ::_exit(not_started);
}

// How long a command may go on: until its deadline, or, with limits.work_s, as long as its
// processes use a fiftieth of a processor and have not used too much of it.
class Patience {
 public:
  Patience(pid_t command, const CommandLimits& limits)
      : command_(command), limits_(limits), look_at_s_(limits.deadline_s) {}

  // The seconds for which there is nothing to decide; 0 or less when the command is to end.
  double left(double now_s) {
    if (now_s >= look_at_s_ && limits_.work_s > 0) look(now_s);
    return look_at_s_ - now_s;
  }

 private:
  static constexpr double processors_min = 0.02, look_again_s = 0.05;

  void look(double now_s) {
    const double work_s = processor_seconds_of_tree(command_);
    if (work_s - work_s_ >= processors_min * limits_.deadline_s) {
      work_s_ = work_s;
      worked_at_s_ = now_s;
    }
    const double idle_until_s = worked_at_s_ + limits_.deadline_s;
    if (work_s >= limits_.work_s || idle_until_s <= now_s) return;
    look_at_s_ = std::min(idle_until_s, now_s + std::max(limits_.work_s - work_s, look_again_s));
  }

  pid_t command_;
  const CommandLimits& limits_;
  double look_at_s_;  // since the start, as the following
  double work_s_ = 0,
         worked_at_s_ = 0;  // what had been used when it last got on, and when that was
};

// Handles the output of a command.
struct Listener {
  const std::function<void(const std::string&)>& heard;
  const std::function<void(double)>& waits;
};

// Reads until the pipe closes, patience ends or there is something to read at limits.stop.
void read_all(int from, Clock::time_point start, const CommandLimits& limits, Patience patience,
              const Listener& listener, CommandResult& result) {
  constexpr double tick_s = 1;
  char buffer[16384];
  std::string line;
  double told = 0;
  std::size_t read = 0;
  for (;;) {
    const double now = seconds_since(start);
    double left = patience.left(now);
    result.timed_out = left <= 0;
    if (result.timed_out) return;
    if (listener.waits) {
      if (now >= told + tick_s) {
        told = now;
        listener.waits(now);
      }
      left = std::min(left, told + tick_s - now);
    }
    pollfd lines[] = {{from, POLLIN, 0}, {limits.stop, POLLIN, 0}};  // -1 is left out
    if (::poll(lines, 2, static_cast<int>(left * 1000) + 1) <= 0) continue;
    result.stopped = (lines[1].revents & POLLIN) != 0;
    if (result.stopped) return;
    if (lines[0].revents == 0) continue;
    const ssize_t got = ::read(from, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    read += static_cast<std::size_t>(got);
    const std::size_t room =
        limits.output_bytes - std::min(limits.output_bytes, result.output.size());
    result.output.append(buffer, std::min(room, static_cast<std::size_t>(got)));
    result.flooded = read > limits.flood_bytes;
    if (result.flooded) return;
    if (!listener.heard) continue;
    line.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end; (end = line.find('\n')) != std::string::npos;) {
      listener.heard(line.substr(0, end));
      line.erase(0, end + 1);
    }
  }
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& argv, const std::filesystem::path& folder,
                          const CommandLimits& limits,
                          const std::function<void(const std::string&)>& heard,
                          const std::function<void(double)>& waits) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(text("cannot create a pipe for ", argv[0], ": ", strerror(errno)));

  const auto start = Clock::now();
  std::fflush(nullptr);  // what is buffered here must not leave through the child
  const pid_t child = ::fork();
  if (child == 0) become(arguments.data(), folder.c_str(), ends[1], limits);
  if (child > 0) ::setpgid(child, child);  // the child does, too: either may be first
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    throw Error(text("cannot start ", argv[0], ": ", strerror(errno)));
  }
  CommandResult result;
  read_all(ends[0], start, limits, Patience(child, limits), {heard, waits}, result);
  if (result.timed_out || result.stopped || result.flooded) ::kill(-child, SIGKILL);
  ::close(ends[0]);
  int status = 0;
  rusage used{};
  while (::wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.seconds = seconds_since(start);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  result.processor_s = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  result.limits = limits;
  if (result.exit_code == not_started && result.output.empty()) {
    throw Error(text("cannot run ", argv[0], " in ", folder.string(), ": is it installed?"));
  }
  return result;
}

}  // namespace lockstep::grader
