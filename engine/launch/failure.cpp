#include "engine/launch/failure.hpp"

#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <tuple>

#include "engine/base/error.hpp"

namespace lockstep::launch {

namespace {

enum class End : unsigned char { killed, ended, reacted };

End end_of(const Failure& failure) {
  const int signal = WIFSIGNALED(failure.status) ? WTERMSIG(failure.status) : 0;
  if (failure.blames_peers || signal == SIGPIPE) return End::reacted;
  return signal == 0 || signal == SIGABRT || failure.stopped ? End::ended : End::killed;
}

std::string text_of_end(const Failure& failure) {
  return failure.stopped ? "failed, and was stopped" : text_of_status(failure.status);
}

std::string others_of(std::span<const Failure> failures) {
  std::string line = "\nfailed after it, or because of it:";
  for (const Failure& failure : failures) {
    line += text(&failure == failures.data() ? " " : ", ", "rank ", failure.rank, " (",
                 text_of_end(failure), ")");
  }
  return line;
}

bool stands_in(const std::vector<std::string>& lines, const std::string& message) {
  const std::string first = message.substr(0, message.find('\n'));
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(first) != std::string::npos; });
}

}  // namespace

std::string name_of_signal(int number) {
  const char* name = sigabbrev_np(number);
  return name ? text("SIG", name) : text("signal ", number);
}

std::string text_of_status(int status) {
  if (WIFEXITED(status)) return text("exited with code ", WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  return text("was killed by signal ", number, " (", name_of_signal(number), ")");
}

bool is_reaction(const Failure& failure) { return end_of(failure) == End::reacted; }

bool is_refusal(std::span<const Failure> failures) {
  bool refused = false;
  for (const Failure& failure : failures) {
    if (failure.stopped || is_reaction(failure)) continue;
    if (!WIFEXITED(failure.status) || WEXITSTATUS(failure.status) != refusal_code) return false;
    refused = true;
  }
  return refused;
}

std::vector<Failure> in_order(std::vector<Failure> failures) {
  std::ranges::stable_sort(failures, {}, [](const Failure& failure) {
    return std::tuple(end_of(failure), failure.seconds);
  });
  return failures;
}

std::string report_of(std::span<const Failure> failures, int world_size, int nodes, int stopped) {
  LOCKSTEP_CHECK(!failures.empty(), "a report needs a failure");
  const Failure& first = failures.front();
  std::string sentence = text("rank ", first.rank, " of ", world_size, " (pid ", first.pid);
  if (nodes > 1) sentence += text(" on node ", first.node, ", ", first.host);
  sentence += text(") ", text_of_end(first));
  if (!first.stopped && WIFSIGNALED(first.status) && WTERMSIG(first.status) == SIGKILL) {
    sentence += "; unless someone did that by hand, memory ran out: see dmesg";
  }
  if (stopped > 0) {
    sentence += stopped == 1 ? std::string("; the one rank still running was stopped")
                             : text("; the ", stopped, " ranks still running were stopped");
  }
  if (!first.message.empty() && !stands_in(first.last, first.message)) {
    sentence += text("\nwhat it said: ", first.message);
  }
  if (!first.last.empty()) sentence += text("\nlast lines of rank ", first.rank, ":");
  for (const std::string& line : first.last) sentence += "\n  " + line;
  if (failures.size() > 1) sentence += others_of(failures.subspan(1));
  return sentence;
}

}  // namespace lockstep::launch
