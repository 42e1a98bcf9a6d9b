#include "engine/launch/guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::launch {

namespace {

namespace fs = std::filesystem;

std::string entry_of(const std::string& mark) { return text(mark_variable, "=", mark); }

std::vector<pid_t> marked(const std::string& mark) {
  const std::string wanted = entry_of(mark);
  std::vector<pid_t> found;
  std::error_code error;  // processes come and go while this reads
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(at->path() / "environ", std::ios::binary);
    // getline: of a process that ends meanwhile it reads nothing, where an iterator would throw.
    for (std::string entry; std::getline(file, entry, '\0');) {
      if (entry == wanted) found.push_back(std::stoi(name));
    }
  }
  return found;
}

// Runs in the guard. It keeps nothing of the launcher's but the pipe, so that nobody who waits for
// the end of the launcher's output waits for the guard.
[[noreturn]] void watch(int alive, const std::string& mark) {
  setsid();                              // signals of the terminal are for the launcher
  prctl(PR_SET_NAME, "lockstep-guard");  // whoever kills by the launcher's name does not mean it
  // A scheduler sends these to every process of a job.
  for (const int number : {SIGUSR1, SIGUSR2}) signal(number, SIG_IGN);
  const int nothing = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
  dup2(alive, 3);
  close_range(4, ~0U, 0);
  std::string folder;
  while (true) {
    char byte = 0;
    const ssize_t got = read(3, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got == 1 && byte == 0) _exit(0);
    if (got != 1) break;
    folder += byte;
  }
  kill_marked(mark);
  std::error_code ignored;
  if (!folder.empty()) fs::remove_all(folder, ignored);
  _exit(0);
}

}  // namespace

void kill_marked(const std::string& mark) {
  // A process that waits for a broken disk cannot be killed; it is not waited for.
  const auto deadline = comm::deadline_after(5);
  // In the middle of an exec, a process has no environment for a moment: it is looked for again.
  constexpr int looks = 3, between_looks_ms = 5;
  for (int none = 0; none < looks && comm::poll_ms_until(deadline) > 0;) {
    const auto left = marked(mark);
    for (const pid_t pid : left) kill(pid, SIGKILL);
    none = left.empty() ? none + 1 : 0;
    // A kill takes effect when the process is scheduled next.
    if (none < looks) poll(nullptr, 0, left.empty() ? between_looks_ms : 1);
  }
}

Guard::Guard() : mark_(text(getpid(), ".", std::random_device()())) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(text("cannot create a pipe: ", std::strerror(errno), "; raise ulimit -n"));
  }
  const comm::Descriptor read_end(ends[0]);
  alive_ = comm::Descriptor(ends[1]);
  pid_ = fork();
  if (pid_ < 0) {
    throw Error(text("cannot start another process: ", std::strerror(errno)));
  }
  if (pid_ == 0) {
    alive_.reset();
    watch(read_end.get(), mark_);
  }
}

std::string Guard::entry() const { return entry_of(mark_); }

void Guard::mark_children() const {
  if (setenv(mark_variable, mark_.c_str(), 1) != 0) throw Error("no memory for the environment");
}

void Guard::remove_after_us(const fs::path& folder) const {
  const std::string path = folder.string();
  [[maybe_unused]] const auto told = write(alive_.get(), path.data(), path.size());
}

Guard::~Guard() {
  const char over = 0;
  if (write(alive_.get(), &over, 1) == 1) waitpid(pid_, nullptr, 0);
}

}  // namespace lockstep::launch
