#include "grader/judge/judge_call.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/base/error.hpp"
#include "engine/base/fields.hpp"

namespace lockstep::sim {

template <typename Archive>
void fields(Archive& archive, PlayerLimits& limits) {
  archive(limits.idle_s, limits.case_s, limits.cpu_s, limits.memory_bytes, limits.files,
          limits.output_bytes, limits.frame_bytes_max, limits.launcher);
}

template <typename Archive>
void fields(Archive& archive, DebuggedPlayer& player) {
  archive(player.rank, player.command);
}

}  // namespace lockstep::sim

namespace lockstep::grader {

template <typename Archive>
void fields(Archive& archive, CaseAddress& address) {
  archive(address.number, address.way);
}

template <typename Archive>
void fields(Archive& archive, JudgeOptions& options) {
  archive(options.seed, options.battery, options.only_case, options.replay_with, options.world,
          options.debugged, options.limits, options.max_points, options.weighs, options.mistakes,
          options.timeline_file);
}

template <typename Archive>
void fields(Archive& archive, JudgeCall& call) {
  archive(call.exercise, call.player, call.options);
}

template <typename Archive>
void fields(Archive& archive, CheckReport& check) {
  archive(check.name, check.verdict, check.cause, check.message, check.expected, check.seen,
          check.where, check.counters, check.replay, check.origin, check.skipped, check.cases,
          check.seconds, check.situations, check.thrown_at);
}

template <typename Archive>
void fields(Archive& archive, ParCounter& counter) {
  archive(counter.name, counter.seen, counter.best, counter.where);
}

template <typename Archive>
void fields(Archive& archive, Report& report) {
  archive(report.exercise, report.verdict, report.points, report.max_points, report.cause,
          report.message, report.next_step, report.steps_held, report.checks, report.only_case,
          report.aside, report.output, report.seed, report.inputs, report.par);
}

template <typename Archive>
void fields(Archive& archive, JudgeAnswer& answer) {
  archive(answer.what, answer.why, answer.report);
}

Bytes to_bytes(const JudgeCall& call) { return fields_to_bytes(call); }
Bytes to_bytes(const JudgeAnswer& answer) { return fields_to_bytes(answer); }
JudgeCall judge_call_of(const Bytes& bytes) { return fields_from_bytes<JudgeCall>(bytes); }

bool write_all(int to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(to, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

Bytes read_all(int from) {
  Bytes all;
  std::byte buffer[65536];
  while (true) {
    const ssize_t count = ::read(from, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    all.insert(all.end(), buffer, buffer + count);
  }
}

namespace {

struct Pipe {
  int read = -1, write = -1;

  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(text("no pipe: ", std::strerror(errno)));
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close(read);
    close(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

// Between fork and exec: nothing here may allocate.
[[noreturn]] void become(const char* program, const Pipe& calls, const Pipe& answers,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  // First out of the way: either end may have the other's number.
  const int call = ::fcntl(calls.read, F_DUPFD, 10), answer = ::fcntl(answers.write, F_DUPFD, 10);
  ::dup2(call, judge_call_fd);
  ::dup2(answer, judge_answer_fd);
  ::close(call);
  ::close(answer);
  ::execl(program, program, nullptr);
  ::_exit(127);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return text("was ended by ", ::strsignal(WTERMSIG(status)));
  return text("ended with exit code ", WEXITSTATUS(status), " and without a report");
}

}  // namespace

Report call_judge(const std::filesystem::path& judge, const JudgeCall& call) {
  if (::access(judge.c_str(), X_OK) != 0) {
    throw Error("there is no " + judge.string() + ": build the lab first (./lab start)");
  }
  const Bytes request = to_bytes(call);
  constexpr std::size_t pipe_bytes = 65'536;
  LOCKSTEP_CHECK(request.size() <= pipe_bytes, "a call of a judge fits a pipe");
  Pipe calls, answers;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(judge.c_str(), calls, answers, parent);
  if (child < 0) throw Error(text("no process for the judge: ", std::strerror(errno)));
  Pipe::close(answers.write);
  const bool asked = write_all(calls.write, request);
  Pipe::close(calls.read);  // only now: a judge that has gone already must not cost a SIGPIPE
  Pipe::close(calls.write);
  const Bytes said = read_all(answers.read);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!asked || said.empty()) {
    throw Error(text(judge.filename().string(), " ", how_it_ended(status)));
  }
  auto answer = fields_from_bytes<JudgeAnswer>(said);
  if (answer.what == JudgeAnswer::What::usage_error) throw UsageError(answer.why);
  if (answer.what == JudgeAnswer::What::error) throw Error(answer.why);
  return std::move(answer.report);
}

}  // namespace lockstep::grader
