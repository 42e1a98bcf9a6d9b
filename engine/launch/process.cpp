// fork, then exec or the body. Before exec the child calls async-signal-safe functions only,
// because a caller may have threads; argv and envp are therefore made before.
#include "engine/launch/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "engine/base/error.hpp"

namespace lockstep::launch {

namespace {

using comm::Descriptor;

struct Pipe {
  Descriptor read, write;
};

Pipe make_pipe(Stream stream = Stream::pipe) {
  if (stream == Stream::inherit) return {};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(text("cannot create a pipe: ", std::strerror(errno), "; raise ulimit -n"));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Does what exec would have done.
void begin_anew() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    signal(number, SIG_DFL);
  }
  std::vector<int> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    open.push_back(std::stoi(entry.path().filename().string()));
  }
  for (const int fd : open) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) != 0) close(fd);
  }
}

[[noreturn]] void run_body(const std::function<int()>& body, char* const* envp,
                           const sigset_t& signal_mask) {
  int code = 1;
  try {
    begin_anew();
    environ = const_cast<char**>(envp);
    sigprocmask(SIG_SETMASK, &signal_mask, nullptr);
    code = body();
  } catch (const std::exception& error) {
    std::cerr << text("a process failed: ", error.what(), "\n");
  }
  std::cout.flush();
  std::fflush(nullptr);
  _exit(code);  // what the parent would have destroyed is the parent's
}

struct Ends {
  int output, error, failure;
};

// Never returns: becomes the program, or writes errno to `failure`.
[[noreturn]] void become(const ProcessOptions& options, char* const* argv, char* const* envp,
                         const Ends& ends, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent died before prctl could watch it
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  if (ends.output >= 0) dup2(ends.output, STDOUT_FILENO);
  if (ends.error >= 0) dup2(ends.error, STDERR_FILENO);
  if (options.command.empty()) {
    run_body(options.body, envp, options.signal_mask);
  }
  sigprocmask(SIG_SETMASK, &options.signal_mask, nullptr);
  execvpe(argv[0], argv, envp);
  const int error = errno;
  [[maybe_unused]] const auto told = write(ends.failure, &error, sizeof error);
  _exit(127);
}

// errno of the child's exec, or 0: exec closes the other end.
int exec_error(const Descriptor& failure) {
  int error = 0;
  ssize_t got;
  do {
    got = read(failure.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

void make_nonblocking(const Descriptor& end) {
  if (end.get() >= 0) fcntl(end.get(), F_SETFL, O_NONBLOCK);
}

}  // namespace

Process::Process(const ProcessOptions& options) {
  LOCKSTEP_CHECK(!options.command.empty() || options.body, "a process needs something to run");
  std::cout.flush();
  std::fflush(nullptr);  // what is still in a buffer is not printed twice
  const auto argv = pointers_to(options.command);
  const auto envp = pointers_to(options.environment);
  Pipe out = make_pipe(options.output);
  Pipe err = make_pipe(options.error);
  Pipe failure = make_pipe();
  const pid_t parent = getpid();

  pid_ = fork();
  if (pid_ < 0) {
    throw Error(text("cannot start another process: ", std::strerror(errno), "; try fewer ranks"));
  }
  if (pid_ == 0) {
    become(options, argv.data(), envp.data(),
           {out.write.get(), err.write.get(), failure.write.get()}, parent);
  }
  setpgid(pid_, pid_);  // in parent and child: whoever comes first
  running_ = true;
  failure.write.reset();
  if (const int error = options.command.empty() ? 0 : exec_error(failure.read); error != 0) {
    waitpid(pid_, nullptr, 0);
    throw UsageError(text("cannot start ", options.command.front(), ": ", std::strerror(error),
                          "; give the path of a program, such as build/release/bin/smoke"));
  }
  // By number: glibc 2.36 declares pidfd_open without extern "C".
  exit_fd_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  LOCKSTEP_CHECK(exit_fd_.get() >= 0, "pidfd_open failed: ", std::strerror(errno),
                 "; the launcher needs Linux 5.3 or newer");
  output_ = std::move(out.read);
  error_ = std::move(err.read);
  make_nonblocking(output_);
  make_nonblocking(error_);
}

Process::~Process() {
  if (!running_) return;
  signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const {
  if (running_) kill(-pid_, number);
}

std::optional<int> Process::try_reap() {
  siginfo_t info{};
  if (!running_ ||
      waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  // The zombie still holds the group's number, so this reaches nobody else's processes.
  signal(SIGKILL);
  int status = 0;
  wait4(pid_, &status, 0, &used_);
  running_ = false;
  return status;
}

}  // namespace lockstep::launch
