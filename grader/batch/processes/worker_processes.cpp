#include "grader/batch/processes/worker_processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <list>

#include "engine/base/error.hpp"
#include "grader/batch/processes/processor_time.hpp"
#include "grader/sandbox/give_up.hpp"

namespace lockstep::grader {
namespace {

using Clock = std::chrono::steady_clock;

// Writes all of it, whatever the pipe takes at once.
void hand_in(int to, const std::string& answer) {
  std::size_t sent = 0;
  while (sent < answer.size()) {
    const ssize_t count = ::write(to, answer.data() + sent, answer.size() - sent);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
}

// When memory runs out, players go first (lab-box), then what judges them, and the grader last.
void die_before_the_grader() {
  const int to = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (to < 0) return;  // a user who may not: the kernel chooses
  static_cast<void>(!::write(to, "300", 3));
  ::close(to);
}

[[noreturn]] void work(const std::function<std::string()>& task, int to, pid_t parent,
                       std::size_t memory) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setpgid(0, 0);
  const rlim_t most = mapped_bytes() + memory;
  const rlimit space{most, most};
  ::setrlimit(RLIMIT_AS, &space);
  ::signal(SIGPIPE, SIG_IGN);
  die_before_the_grader();
  adopt_orphans();
  std::string answer;
  char kind = '+';
  try {
    answer = task();
  } catch (const std::exception& error) {
    kind = '-';
    answer = error.what();
  } catch (...) {
    kind = '-';
    answer = "an unknown exception";
  }
  constexpr double orphans_s = 2;
  reap_children(orphans_s);
  hand_in(to, kind + answer);
  ::_exit(0);  // nothing of the parent's is to be flushed or destroyed twice
}

class Worker {
 public:
  Worker(std::size_t number, const std::function<std::string()>& task, std::size_t memory)
      : number_(number), start_(Clock::now()) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error(text("cannot create a pipe: ", std::strerror(errno)));
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) work(task, ends[1], parent, memory);
    ::close(ends[1]);
    from_ = ends[0];
    if (pid_ > 0) return;
    ::close(from_);
    throw Error(text("cannot start a process for a submission: ", std::strerror(errno)));
  }
  ~Worker() {
    if (pid_ > 0) kill_and_reap();
    ::close(from_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::size_t number() const { return number_; }
  int output() const { return from_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // Reads what is there; true when there will be no more.
  bool read(std::size_t bytes_max) {
    char buffer[65536];
    const ssize_t count = ::read(from_, buffer, sizeof buffer);
    if (count < 0) return errno != EINTR;
    const std::size_t room = bytes_max - std::min(bytes_max, said_.size());
    said_.append(buffer, std::min(room, static_cast<std::size_t>(count)));
    too_long_ = too_long_ || room < static_cast<std::size_t>(count);
    return count == 0;
  }

  // Its pipe has closed: it is about to be over.
  Outcome outcome() {
    Outcome outcome;
    outcome.seconds = seconds();
    int status = 0;
    rusage used{};
    while (::wait4(pid_, &status, 0, &used) < 0 && errno == EINTR) {
    }
    outcome.processor_s = processor_s_of(used);
    ::kill(-std::exchange(pid_, -1), SIGKILL);  // what it may have left
    if (too_long_) {
      outcome.how = text("its report is longer than ", said_.size(), " bytes");
    } else if (said_.starts_with('+') && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      outcome.state = Outcome::State::answered;
      outcome.answer = said_.substr(1);
    } else if (said_.starts_with('-')) {
      outcome.how = said_.substr(1);
    } else {
      outcome.how = WIFSIGNALED(status)
                        ? text("the judge was stopped by ", ::strsignal(WTERMSIG(status)))
                        : "the judge ended without an answer";
    }
    return outcome;
  }

  Outcome timed_out() {
    Outcome outcome;
    outcome.processor_s = processor_s_of_tree(pid_);
    kill_and_reap();
    outcome.state = Outcome::State::timed_out;
    outcome.seconds = seconds();
    return outcome;
  }

 private:
  void kill_and_reap() {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  std::size_t number_;
  Clock::time_point start_;
  pid_t pid_ = -1;
  int from_ = -1;
  std::string said_;
  bool too_long_ = false;
};

class WorkerProcesses {
 public:
  using Tasks = std::vector<std::function<std::string()>>;
  using Done = std::function<void(std::size_t, Outcome)>;
  using Ask = std::function<Turn(std::size_t)>;
  WorkerProcesses(const Tasks& tasks, const WorkerLimits& limits, const Done& done, const Ask& turn)
      : tasks_(tasks), limits_(limits), done_(done), turn_(turn) {}

  void work() {
    while (next_ < tasks_.size() || !at_work_.empty()) {
      start_what_can_be();
      listen();
    }
  }

 private:
  void start_what_can_be() {
    while (next_ < tasks_.size() && std::cmp_less(at_work_.size(), limits_.jobs)) {
      const Turn turn = turn_ ? turn_(next_) : Turn::start;
      if (turn == Turn::wait) return;
      const std::size_t task = next_++;
      if (turn == Turn::start) start(task);
    }
  }

  void start(std::size_t task) {
    try {
      at_work_.emplace_back(task, tasks_[task], limits_.memory_bytes);
    } catch (const Error& error) {  // no pipe or no process: the next attempt may find one
      Outcome outcome;
      outcome.how = error.what();
      done_(task, std::move(outcome));
    }
  }

  void listen() {
    std::vector<pollfd> events;
    for (const Worker& worker : at_work_) events.push_back({worker.output(), POLLIN, 0});
    constexpr int look_around_ms = 200;  // at the deadlines, and whether a task may start by now
    if (at_work_.empty() && next_ == tasks_.size()) return;
    if (::poll(events.data(), events.size(), look_around_ms) < 0) {
      if (errno != EINTR) throw Error(text("cannot wait for the judges: ", std::strerror(errno)));
      for (pollfd& event : events) event.revents = 0;
    }
    std::size_t index = 0;
    for (auto worker = at_work_.begin(); worker != at_work_.end(); ++index) {
      const bool spoke = (events[index].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
      const bool over = spoke && worker->read(limits_.answer_bytes);
      const bool late = !over && worker->seconds() > limits_.deadline_s;
      if (over || late) {
        const std::size_t number = worker->number();
        Outcome outcome = over ? worker->outcome() : worker->timed_out();
        worker = at_work_.erase(worker);
        done_(number, std::move(outcome));
      } else {
        ++worker;
      }
    }
  }

  const Tasks& tasks_;
  const WorkerLimits& limits_;
  const Done& done_;
  const Ask& turn_;
  std::list<Worker> at_work_;
  std::size_t next_ = 0;
};

}  // namespace

void work_through(const std::vector<std::function<std::string()>>& tasks,
                  const WorkerLimits& limits,
                  const std::function<void(std::size_t task, Outcome)>& done,
                  const std::function<Turn(std::size_t task)>& turn) {
  WorkerProcesses(tasks, limits, done, turn).work();
}

}  // namespace lockstep::grader
