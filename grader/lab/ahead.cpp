#include "grader/lab/ahead.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>

#include "engine/base/text.hpp"
#include "grader/lab/terminal.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t lessons_ahead = 2;
// A command builds in several steps: another one may follow at once.
constexpr int make_way_ms = 2000;

fs::path file_of_builder(const Lab& lab) { return lab.places.build / "ahead"; }

// A file that is locked while the object lives, if it can be.
class Locked {
 public:
  Locked(const fs::path& file, int how)
      : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    held_ = file_ >= 0 && ::flock(file_, how | LOCK_NB) == 0;
  }
  ~Locked() {
    if (file_ >= 0) ::close(file_);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  bool held() const { return held_; }
  // Writes a line of one length over the one before it, so that a reader never finds the file
  // empty.
  void write(const std::string& words) const {
    constexpr std::size_t columns = 40;
    std::string line = words;
    line.resize(columns, ' ');
    line += "\n";
    (void)!::pwrite(file_, line.data(), line.size(), 0);
  }
  void clear() const { (void)!::ftruncate(file_, 0); }

 private:
  int file_;
  bool held_ = false;
};

struct Builder {
  pid_t process = 0;
  std::string lesson;
  int step = 0, steps = 0;
};

std::optional<Builder> builder_of(const Lab& lab) {
  if (!fs::exists(file_of_builder(lab))) return std::nullopt;
  if (Locked(file_of_builder(lab), LOCK_SH).held()) return std::nullopt;
  Builder builder;
  std::ifstream in(file_of_builder(lab));
  if (!(in >> builder.process >> builder.lesson >> builder.step >> builder.steps)) {
    return std::nullopt;
  }
  return builder;
}

// The builder's own process.
class Building {
 public:
  Building(const Lab& lab, const Exercise* first) : lab_(lab), first_(first) {}

  void run() {
    if (!alone_.held()) return;
    alone_.write(text(::getpid(), " 00 0 0"));
    while (!ended_) {
      const auto target = next_target();
      if (!target) break;
      if (build(*target)) {
        done_.insert(target->name);
      } else {
        hear(make_way_ms);
      }
    }
    alone_.clear();
  }

 private:
  // By the progress of just now: the student has gone on meanwhile.
  std::optional<AheadTarget> next_target() const {
    const Progress progress = read_progress(lab_.places.progress());
    for (const AheadTarget& target : targets_ahead(lab_, progress, first_)) {
      if (!done_.contains(target.name)) return target;
    }
    return std::nullopt;
  }

  // Waits for a signal; true if one came.
  bool hear(int wait_ms) {
    pollfd line{signals_.fd(), POLLIN, 0};
    if (::poll(&line, 1, wait_ms) <= 0) return false;
    while (const int signal = signals_.next()) ended_ = ended_ || signal != SIGUSR1;
    return true;
  }

  // True when there is no more to do for the target, also when it does not build: whoever needs it
  // is told why. False when the builder makes way.
  bool build(const AheadTarget& target) {
    const Locked one_build(lab_.places.build / "building.lock", LOCK_EX);
    if (!one_build.held()) return false;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return true;
    const pid_t self = ::getpid();
    const pid_t ninja = ::fork();
    if (ninja == 0) become_ninja(target.name, ends[1], self);
    ::close(ends[1]);
    const bool stopped = ninja > 0 && !listen(ninja, ends[0], target.lesson);
    ::close(ends[0]);
    int status = 0;
    while (ninja > 0 && ::waitpid(ninja, &status, 0) < 0 && errno == EINTR) {
    }
    return !stopped;
  }

  // ninja ends with the builder, and ends its compilers itself.
  [[noreturn]] void become_ninja(const std::string& target, int output, pid_t builder) const {
    signals_.restore_in_child();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != builder) ::_exit(1);
    ::dup2(output, STDOUT_FILENO);
    ::execlp("ninja", "ninja", "-C", lab_.places.build.c_str(), "-j1", target.c_str(), nullptr);
    ::_exit(127);
  }

  // Notes the steps that ninja prints, until it ends. False if a signal ended it.
  bool listen(pid_t ninja, int output, const std::string& lesson) {
    bool goes_on = true;
    std::string line;
    for (;;) {
      pollfd lines[] = {{output, POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
      if (::poll(lines, 2, -1) < 0 && errno != EINTR) return goes_on;
      if ((lines[1].revents & POLLIN) != 0 && hear(0)) {
        goes_on = false;
        ::kill(ninja, SIGTERM);
      }
      if (lines[0].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = ::read(output, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return goes_on;
      line.append(buffer, static_cast<std::size_t>(got));
      for (std::size_t end; (end = line.find('\n')) != std::string::npos; line.erase(0, end + 1)) {
        int step = 0, steps = 0;
        if (std::sscanf(line.c_str(), "[%d/%d] ", &step, &steps) != 2) continue;
        alone_.write(text(::getpid(), " ", lesson, " ", step, " ", steps));
      }
    }
  }

  const Lab& lab_;
  const Exercise* first_;
  Signals signals_{SIGUSR1, SIGTERM, SIGINT, SIGHUP};
  Locked alone_{file_of_builder(lab_), LOCK_EX};
  std::set<std::string> done_;
  bool ended_ = false;
};

// The lowest priority for processor and disk, for this process and all that it starts.
void be_unobtrusive() {
  constexpr int of_process = 1, idle_class = 3 << 13;  // linux/ioprio.h
  ::setpriority(PRIO_PROCESS, 0, 19);
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);
  ::syscall(SYS_ioprio_set, of_process, 0, idle_class);
}

// Nobody who waits for the end of this command's output may wait for the builder.
void let_go_of_descriptors() {
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(nothing, standard);
  }
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
}

}  // namespace

void build_ahead(const Lab& lab, const Exercise* first) {
  if (!lab.ahead || lab.packed) return;
  std::cout << std::flush;
  std::fflush(nullptr);  // what is buffered here must not leave through the child
  // A watch adopts what its checks leave behind, and ends it; the builder is to go on.
  int adopts = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &adopts);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() == 0) {
      let_go_of_descriptors();
      be_unobtrusive();
      try {
        Building(lab, first).run();
      } catch (const std::exception&) {  // the next command that builds says what is wrong
      }
    }
    ::_exit(0);
  }
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, adopts);
}

std::vector<AheadTarget> targets_ahead(const Lab& lab, const Progress& progress,
                                       const Exercise* first) {
  if (first == nullptr) first = exercise_at_hand(lab, progress);
  std::vector<AheadTarget> targets;
  std::set<std::string> names, lessons;
  const auto add = [&](const std::string& name, const std::string& lesson) {
    if (names.insert(name).second) targets.push_back({name, lesson});
  };
  std::set<const Exercise*> seen;
  for (const Exercise* at = first; at != nullptr && seen.insert(at).second;
       at = next_exercise(lab, progress, at)) {
    const std::string lesson = at->lesson.substr(0, 2);
    if (at->kind != Kind::code) continue;
    const bool is_new = lessons.insert(lesson).second;
    if (lessons.size() > lessons_ahead) break;
    if (is_new && lessons.size() == 2) add("lab-further", lesson);
    add(lab.places.judge(*at).filename().string(), lesson);
    add("player-" + at->name, lesson);
  }
  return targets;
}

std::optional<std::string> built_ahead_now(const Lab& lab) {
  const auto builder = builder_of(lab);
  if (!builder || builder->steps == 0) return std::nullopt;
  const int at_work = std::min(builder->step + 1, builder->steps);
  return text("lesson ", builder->lesson, ", step ", at_work, " of ", builder->steps);
}

bool make_builder_give_way(const Lab& lab) {
  const auto builder = builder_of(lab);
  return builder && ::kill(builder->process, SIGUSR1) == 0;
}

}  // namespace lockstep::grader
