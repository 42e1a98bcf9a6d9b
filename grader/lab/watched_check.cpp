#include "grader/lab/watched_check.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/report.hpp"

namespace lockstep::grader {
namespace {

// A student who saves again and again must not wait for an endless loop: the verdict is there
// within three seconds, besides compiling.
sim::PlayerLimits limits_of_watch(const Lab& lab) {
  sim::PlayerLimits limits = lab.limits;
  limits.idle_s = 1.5;
  // Under a sanitizer everything takes its time.
  if (limits.memory_bytes > 0) limits.case_s = 2.2;
  return limits;
}

std::string outcome_of(const Lab& lab, const Exercise& exercise) {
  nlohmann::json outcome;
  try {
    JudgeOptions judging;
    judging.limits = limits_of_watch(lab);
    judging.timeline_file = lab.places.timeline(exercise).string();
    const auto file = lab.places.work(exercise);
    const Grade grade = is_untouched(lab, exercise, file)
                            ? grade_untouched(lab, exercise, file, judging.seed)
                            : grade_file(lab, exercise, file, judging);
    note_standing(lab, exercise, grade.report);
    outcome["words"] = words_of(grade, lab, exercise, Times::hidden);
    outcome["document"] = json_of(grade);
  } catch (const std::exception& error) {
    outcome["failed"] = error.what();
  }
  return write_any_json(outcome);
}

void write_all(int to, const std::string& words) {
  for (std::size_t at = 0; at < words.size();) {
    const ssize_t count = ::write(to, words.data() + at, words.size() - at);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) at += static_cast<std::size_t>(count);
  }
}

// Ends what a killed check leaves behind, say a compiler that would still write its files. Such
// processes are this one's children since it is their subreaper, and so are their own later on.
void end_orphans() {
  const std::string mine = std::to_string(::getpid());
  for (;;) {
    std::ifstream children("/proc/" + mine + "/task/" + mine + "/children");
    for (pid_t orphan = 0; children >> orphan;) ::kill(orphan, SIGKILL);
    if (::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

}  // namespace

WatchedCheck::WatchedCheck(const Lab& lab, const Exercise& exercise, const Signals& signals) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(text("cannot create a pipe for a check: ", strerror(errno)));
  std::cout << std::flush;
  std::fflush(nullptr);  // what is buffered here must not leave through the child
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t watch = ::getpid();
  child_ = ::fork();
  if (child_ == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != watch) ::_exit(0);
    signals.restore_in_child();
    write_all(ends[1], outcome_of(lab, exercise));
    ::_exit(0);
  }
  ::close(ends[1]);
  from_ = ends[0];
  if (child_ < 0) {
    ::close(from_);
    throw Error(text("cannot start a check: ", strerror(errno)));
  }
  ::fcntl(from_, F_SETFL, O_NONBLOCK);
}

// Players die with the process that started them; a compiler does not.
WatchedCheck::~WatchedCheck() {
  ::kill(child_, SIGKILL);
  end_orphans();
  ::close(from_);
}

std::optional<Outcome> WatchedCheck::take() {
  char buffer[16384];
  ssize_t count = 0;
  while ((count = ::read(from_, buffer, sizeof buffer)) > 0) {
    got_.append(buffer, static_cast<std::size_t>(count));
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  const auto outcome = read_json_or_discard(got_);
  if (outcome.is_discarded()) throw Error("the check ended without a verdict");
  if (outcome.contains("failed")) throw Error(outcome.at("failed").get<std::string>());
  return Outcome{outcome.at("words").get<std::string>(), outcome.at("document")};
}

}  // namespace lockstep::grader
