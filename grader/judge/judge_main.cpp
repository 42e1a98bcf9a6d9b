// The main program of every lesson's judge: reads a call, judges, writes the report. Which exams it
// holds is in the table that is generated for the lesson (cmake/parts.cmake).
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "engine/base/error.hpp"
#include "engine/trace/data.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/judge_call.hpp"

namespace lockstep::grader {
namespace {

Report judge_part(const JudgeCall& call) {
  const auto found = exams().find(call.exercise);
  if (found == exams().end()) throw UsageError(text("there is no exam for '", call.exercise, "'"));
  return judge_exam(call.exercise, found->second, call.player, call.options);
}

// As ./lab trace reads it.
void write_timeline(const std::string& file, const Report& report, trace::Timeline run) {
  if (run.ranks == 0) return;
  run.facts.insert(run.facts.begin(), {"verdict", std::string(name_of(report.verdict))});
  for (const CheckReport& check : report.checks) {
    if (!check.replay.empty()) run.facts.emplace_back("again", check.replay);
  }
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  std::ofstream out(file, std::ios::binary);
  write_data(out, ordered(std::move(run)));
  if (!out.flush()) throw Error("cannot write " + file);
}

// Ctrl-C is for the rank in gdb. A handler, since a signal that is ignored stays so in gdb.
extern "C" void leave_it_to_gdb(int) {}

// The judge and the ranks of its players take turns. On one core a turn is a switch; on two, it
// wakes a core that sleeps: an exam of 40,000 messages took 2.8 s on two cores and 1.1 s on one.
// The kernel starts a program on a core that is idle, so judges side by side part the cores. A
// refusal costs nothing but time.
void stay_on_this_core() {
  const int core = ::sched_getcpu();
  if (core < 0 || core >= CPU_SETSIZE) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(core), &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

JudgeAnswer answer_to(JudgeCall call) {
  JudgeAnswer answer;
  try {
    trace::Timeline timeline;
    const std::string& file = call.options.timeline_file;
    if (!file.empty()) call.options.timeline = &timeline;
    answer.report = judge_part(call);
    if (!file.empty()) write_timeline(file, answer.report, std::move(timeline));
  } catch (const UsageError& error) {
    answer.what = JudgeAnswer::What::usage_error;
    answer.why = error.what();
  } catch (const std::exception& error) {
    answer.what = JudgeAnswer::What::error;
    answer.why = error.what();
  }
  return answer;
}

int answer_judge_call() {
  ::prctl(PR_SET_DUMPABLE, 0);  // no other process of this user looks into the judge's memory
  ::signal(SIGPIPE, SIG_IGN);   // a caller that has gone is found when the answer is written
  // Players have descriptors 3 and 4 of their own.
  const int from = ::fcntl(judge_call_fd, F_DUPFD_CLOEXEC, 10);
  const int to = ::fcntl(judge_answer_fd, F_DUPFD_CLOEXEC, 10);
  if (from < 0 || to < 0) {
    std::cerr << "this program is started by lab-tool; ./lab check NAME judges a part\n";
    return 2;
  }
  ::close(judge_call_fd);
  ::close(judge_answer_fd);
  const Bytes request = read_all(from);
  const auto call = judge_call_of(request);
  if (call.options.debugged) ::signal(SIGINT, leave_it_to_gdb);
  if (call.options.world == PlayerWorld::judges) stay_on_this_core();
  return write_all(to, to_bytes(answer_to(call))) ? 0 : 4;
}

}  // namespace

}  // namespace lockstep::grader

int main() { return lockstep::grader::answer_judge_call(); }
