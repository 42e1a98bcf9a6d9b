#include "grader/exam/trials.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <fstream>

namespace lockstep::grader {
namespace {

using Holds = std::function<bool(std::size_t)>;

// A child answers for each trial with one byte.
constexpr char holds_said = 'y', fails_said = 'n';

void limit(__rlimit_resource resource, rlim_t value) {
  const rlimit both{value, value};
  ::setrlimit(resource, &both);
}

void limit_memory(std::size_t more) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  limit(RLIMIT_AS, pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + more);
}

void say_nothing_aloud() {
  const int null = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
}

// From now on; the signal at its end ends the process.
void give_processor_time(double seconds) {
  const double whole = std::floor(seconds);
  itimerval once{};
  once.it_value = {static_cast<time_t>(whole), static_cast<suseconds_t>((seconds - whole) * 1e6)};
  ::setitimer(ITIMER_PROF, &once, nullptr);
}

char outcome_of(const Holds& holds, std::size_t trial) {
  try {
    return holds(trial) ? holds_said : fails_said;
  } catch (...) {
    return fails_said;
  }
}

[[noreturn]] void be_the_child(pid_t parent, int to, std::size_t next,
                               const std::vector<bool>& given_up, const TrialLimits& limits,
                               const Holds& holds) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  say_nothing_aloud();
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit_memory(limits.memory_bytes);
  for (; next < given_up.size(); ++next) {
    if (given_up[next]) continue;
    give_processor_time(limits.processor_s);
    const char said = outcome_of(holds, next);
    if (::write(to, &said, 1) != 1 || said == holds_said) break;
  }
  ::_exit(0);
}

// A child that runs trials from `next` on, and the pipe on which it tells of them.
class Child {
 public:
  Child(std::size_t next, const std::vector<bool>& given_up, const TrialLimits& limits,
        const Holds& holds) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    from_ = ends[0];
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) be_the_child(parent, ends[1], next, given_up, limits, holds);
    ::close(ends[1]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (from_ >= 0) ::close(from_);
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  bool runs() const { return pid_ >= 0; }

  // The answer for its next trial; none when it has ended, or is silent for so long.
  std::optional<char> heard(double silence_s) const {
    pollfd events{from_, POLLIN, 0};
    int ready = 0;
    while ((ready = ::poll(&events, 1, static_cast<int>(silence_s * 1000))) < 0 && errno == EINTR) {
    }
    char said = 0;
    if (ready <= 0 || ::read(from_, &said, 1) != 1) return std::nullopt;
    return said;
  }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
};

}  // namespace

std::optional<std::size_t> Trials::first_that_holds(const Holds& holds) {
  std::size_t next = 0;
  while (next < given_up_.size()) {
    const Child child(next, given_up_, limits_, holds);
    if (!child.runs()) return std::nullopt;
    while (next < given_up_.size()) {
      const std::size_t trial = next++;
      if (given_up_[trial]) continue;
      const auto said = child.heard(limits_.silence_s);
      if (said == holds_said) return trial;
      given_up_[trial] = !said;
      if (!said) break;
    }
  }
  return std::nullopt;
}

}  // namespace lockstep::grader
