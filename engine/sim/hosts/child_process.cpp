#include "engine/sim/hosts/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/base/error.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::sim {

namespace {

constexpr int socket_buffer_bytes = 1 << 20;
// A player's program has at most so many bytes in RAM.
constexpr std::int64_t program_bytes_max = std::int64_t{4} << 20;
constexpr int end_wait_ms = 1000;  // between the socket's end and the process's

[[noreturn]] void cannot(const char* what) {
  throw Error(text("cannot start a player: ", what, " failed (", std::strerror(errno),
                   "); are too many processes or files open?"));
}

int checked(int result, const char* what) {
  if (result < 0) cannot(what);
  return result;
}

// The data that the child needs, gathered before the fork: after it, only system calls are safe.
struct Plan {
  std::vector<char*> argv;
  pid_t parent = 0;
  int null = -1, output = -1, socket = -1, error = -1;
  int error_flags = O_CLOEXEC;
  std::array<std::pair<int, rlimit>, 5> limits;
  std::size_t limits_used = 0;

  void limit(int resource, rlim_t value, rlim_t hard) {
    limits[limits_used++] = {resource, {value, hard}};
  }
};

// Between fork and exec: the lab's own descriptors 0 to 2, and the socket as 3.
[[noreturn]] void become_debugger(const Plan& plan) {
  const int socket = fcntl(plan.socket, F_DUPFD_CLOEXEC, 10);
  const int error = fcntl(plan.error, F_DUPFD_CLOEXEC, 10);
  if (socket < 0 || error < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(127);
  if (dup2(socket, 3) == 3) execv(plan.argv[0], plan.argv.data());
  const int reason = errno;
  static_cast<void>(!::write(error, &reason, sizeof reason));
  _exit(127);
}

// Between fork and exec. Descriptors: 0 null, 1 and 2 the pipe, 3 the socket, and 4, closed by the
// player's exec, on which the reason is written when exec fails.
[[noreturn]] void become_player(const Plan& plan) {
  const auto fail = [&](int fd) {
    const int reason = errno;
    static_cast<void>(!::write(fd, &reason, sizeof reason));
    _exit(127);
  };
  int error = plan.error;
  if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(error);
  if (getppid() != plan.parent) _exit(127);  // died before the line above took hold
  // Out of the way of 0 to 4 first: any of them may be one of ours.
  const int null = fcntl(plan.null, F_DUPFD_CLOEXEC, 10);
  const int output = fcntl(plan.output, F_DUPFD_CLOEXEC, 10);
  const int socket = fcntl(plan.socket, F_DUPFD_CLOEXEC, 10);
  error = fcntl(plan.error, F_DUPFD_CLOEXEC, 10);
  if (null < 0 || output < 0 || socket < 0 || error < 0) _exit(127);
  if (dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 || dup2(socket, 3) < 0 ||
      dup3(error, 4, plan.error_flags) < 0) {
    fail(error);
  }
  if (close_range(5, ~0U, 0) != 0) fail(4);
  for (std::size_t i = 0; i < plan.limits_used; ++i) {
    const auto& [resource, limit] = plan.limits[i];
    if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) fail(4);
  }
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  char* environment[] = {nullptr};
  execve(plan.argv[0], plan.argv.data(), environment);
  fail(4);
  _exit(127);
}

std::string signal_text(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV: it accessed memory outside its own (a null pointer, an index out of range, "
             "infinite recursion, a reference to a variable of a function that has returned), or "
             "exceeded its memory limit";
    case SIGABRT:
      return "SIGABRT: abort(), a failed assertion, or an exception that nothing could catch";
    case SIGFPE:
      return "SIGFPE: an integer divided by zero";
    case SIGBUS:
      return "SIGBUS: it read or wrote memory that does not exist";
    case SIGILL:
      return "SIGILL: an invalid instruction, often a function with a missing return";
    case SIGTRAP:
      return "SIGTRAP: a trap, often a function with a missing return";
    case SIGKILL:
      return "SIGKILL: killed from outside, often because memory ran out";
    case SIGSYS:
      return "SIGSYS: it made a system call that no part may make";
    case SIGXFSZ:
      return "SIGXFSZ: it tried to write a file";
    default:
      return text("signal ", number, ": ", strsignal(number));
  }
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const PlayerLimits& limits,
                           Surroundings surroundings)
    : launched_(!limits.launcher.empty()) {
  LOCKSTEP_CHECK(!command.empty() && command[0].starts_with("/"),
                 "a player's program must have an absolute path");
  int pair[2], output[2], error[2];
  checked(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "socketpair");
  socket_ = Descriptor(pair[0]);
  const Descriptor far_socket(pair[1]);
  checked(pipe2(output, O_CLOEXEC), "pipe2");
  output_ = Descriptor(output[0]);
  const Descriptor far_output(output[1]);
  checked(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, error), "socketpair");
  start_error_ = Descriptor(error[0]);
  const Descriptor far_error(error[1]);
  const Descriptor null(checked(open("/dev/null", O_RDONLY | O_CLOEXEC), "open(/dev/null)"));
  checked(fcntl(socket_.get(), F_SETFL, O_NONBLOCK), "fcntl");
  checked(fcntl(output_.get(), F_SETFL, O_NONBLOCK), "fcntl");
  for (const int fd : pair) {  // fewer switches for big messages; the system may grant less
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &socket_buffer_bytes, sizeof socket_buffer_bytes);
  }

  if (launched_) {  // tells the process id of whoever sends
    const int on = 1;
    checked(setsockopt(start_error_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on), "SO_PASSCRED");
  }

  Plan plan;
  for (const auto& word : limits.launcher) plan.argv.push_back(const_cast<char*>(word.c_str()));
  for (const auto& word : command) plan.argv.push_back(const_cast<char*>(word.c_str()));
  plan.argv.push_back(nullptr);
  plan.parent = getpid();
  plan.null = null.get();
  plan.output = far_output.get();
  plan.socket = far_socket.get();
  plan.error = far_error.get();
  if (launched_) plan.error_flags = 0;
  const auto cpu_s = static_cast<rlim_t>(std::ceil(limits.cpu_s));
  plan.limit(RLIMIT_CPU, cpu_s, cpu_s + 1);
  plan.limit(RLIMIT_CORE, 0, 0);
  const auto files = static_cast<rlim_t>(limits.files);
  plan.limit(RLIMIT_NOFILE, files, files);
  if (limits.memory_bytes > 0) {
    plan.limit(RLIMIT_FSIZE, 0, 0);
    const auto bytes = static_cast<rlim_t>(limits.memory_bytes);
    plan.limit(RLIMIT_AS, bytes, bytes);
  }
  pid_ = checked(fork(), "fork");
  if (pid_ == 0 && surroundings == Surroundings::the_labs) become_debugger(plan);
  if (pid_ == 0) become_player(plan);
  player_pid_ = pid_;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : socket_(std::move(other.socket_)),
      output_(std::move(other.output_)),
      start_error_(std::move(other.start_error_)),
      launched_(other.launched_),
      pid_(std::exchange(other.pid_, -1)),
      player_pid_(other.player_pid_) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);  // when it has not yet made its group
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// The kernel says who sent the byte, as this process knows it: in other namespaces a process has
// other numbers.
void ChildProcess::await_announcement() {
  char announced = 0;
  iovec data{&announced, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count;
  do {
    count = ::recvmsg(start_error_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  const cmsghdr* sender = CMSG_FIRSTHDR(&message);
  if (count == 1 && announced == '!' && sender != nullptr && sender->cmsg_type == SCM_CREDENTIALS) {
    ucred who{};
    std::memcpy(&who, CMSG_DATA(sender), sizeof who);
    player_pid_ = who.pid;
    return;
  }
  std::array<char, 1000> said{};
  const ssize_t length = ::read(output_.get(), said.data(), said.size());
  std::string why =
      printable({said.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))}, said.size());
  while (why.ends_with('\n')) why.pop_back();
  throw Error("the sandbox of a player did not start: " + why);
}

void ChildProcess::await_start(const std::vector<std::string>& command) {
  if (launched_) await_announcement();
  int reason = 0;
  ssize_t count;
  do {
    count = ::read(start_error_.get(), &reason, sizeof reason);
  } while (count < 0 && errno == EINTR);
  start_error_ = Descriptor();
  if (count == 0) return;  // closed by exec
  throw Error(text("cannot start the player ", command[0], ": ",
                   count == sizeof reason ? std::strerror(reason) : "it died at once"));
}

double ChildProcess::cpu_s() const {
  clockid_t clock;
  timespec used{};
  if (clock_getcpuclockid(player_pid_, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

bool ChildProcess::asleep() const {
  namespace fs = std::filesystem;
  std::error_code gone;
  for (const auto& thread : fs::directory_iterator(text("/proc/", player_pid_, "/task"), gone)) {
    std::string line;
    std::getline(std::ifstream(thread.path() / "stat"), line);
    // "PID (name) S …"; R runs or could, D waits for the disk.
    const std::size_t state = line.rfind(')') + 2;
    if (state < line.size() && (line[state] == 'R' || line[state] == 'D')) return false;
  }
  return !gone;
}

namespace {

// Each processor adds its pages to the mark in batches, of 32 or of twice the number of processors
// (percpu_counter_batch, from Linux 6.2 on). A player runs on a few of them. Batches of 32 are
// small beside what an exam leaves to every program.
std::int64_t not_yet_counted_bytes() {
  constexpr std::int64_t batch_min = 32, processors_used = 4;
  const std::int64_t batch = 2 * sysconf(_SC_NPROCESSORS_ONLN);
  return processors_used * std::max<std::int64_t>(batch - batch_min, 0) * sysconf(_SC_PAGESIZE);
}

// The sum of lines like "Anonymous:    104 kB" whose names are among those given; nothing unless
// the first of them is there.
std::optional<std::int64_t> kilobytes_in(const std::string& file,
                                         const std::vector<std::string>& names) {
  std::ifstream in(file);
  std::int64_t sum = 0;
  bool found = false;
  for (std::string name; in >> name;) {
    const auto known = std::ranges::find(names, name);
    std::int64_t kilobytes = 0;
    if (known != names.end() && in >> kilobytes) sum += kilobytes;
    found = found || known == names.begin();
    std::getline(in, name);
  }
  return found ? std::optional(sum) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> ChildProcess::memory_bytes() const {
  const std::string of_player = text("/proc/", player_pid_, "/");
  // The first is exact, and closed to some users. The second is a counter that may be some pages
  // behind on machines with many processors.
  auto kilobytes =
      kilobytes_in(of_player + "smaps_rollup",
                   {"Anonymous:", "Pss_Shmem:", "Swap:", "Shared_Hugetlb:", "Private_Hugetlb:"});
  if (!kilobytes) {
    kilobytes =
        kilobytes_in(of_player + "status", {"RssAnon:", "RssShmem:", "VmSwap:", "HugetlbPages:"});
  }
  if (!kilobytes) return std::nullopt;
  return *kilobytes * 1024;
}

std::optional<std::int64_t> ChildProcess::peak_bytes() const {
  const std::string status = text("/proc/", player_pid_, "/status");
  const auto kilobytes = kilobytes_in(status, {"VmHWM:", "VmSwap:"});
  if (!kilobytes) return std::nullopt;
  // A player that reads more of its program after the peak than before it would hide as much.
  const auto of_program = kilobytes_in(status, {"RssFile:"}).value_or(0) * 1024;
  return *kilobytes * 1024 - std::min(of_program, program_bytes_max) - not_yet_counted_bytes();
}

bool ChildProcess::forget_peak() {
  std::ofstream marks(text("/proc/", player_pid_, "/clear_refs"));
  marks << '5' << std::flush;  // proc(5): the high-water mark is what the process holds now
  return marks.good();
}

Finding ChildProcess::how_it_ended(int rank) {
  // The socket closes a moment before the process can be reaped; if it has closed fd 3 and goes on,
  // it is not waited for any longer.
  const Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  pollfd event{handle.get(), POLLIN, 0};
  const int ended = handle.get() < 0 ? 0 : poll(&event, 1, end_wait_ms);
  int status = 0;
  if (ended <= 0 || waitpid(pid_, &status, WNOHANG) != pid_) {
    return {FindingKind::crash,
            text("rank ", rank, " closed its connection to the lab (fd 3) but kept running"),
            {rank},
            {}};
  }
  kill(-pid_, SIGKILL);  // what it may have left behind
  pid_ = -1;
  return end_of_process(rank, status);
}

Finding end_of_process(int rank, int status) {
  int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (code > 128 && code <= 128 + SIGSYS) number = code - 128;  // as a wrapping sandbox tells it
  if (number == SIGXCPU) {
    return {
        FindingKind::time,
        text("rank ", rank, " used up its processor time: an endless loop, or far too much work?"),
        {rank},
        {}};
  }
  if (number != 0) {
    return {FindingKind::crash,
            text("rank ", rank, " crashed: ", signal_text(number)),
            {rank},
            {},
            number == SIGKILL ? "killed" : ""};
  }
  return {FindingKind::rank_exited,
          text("rank ", rank, " called exit(", code, ") before returning its result"),
          {rank},
          {}};
}

}  // namespace lockstep::sim
