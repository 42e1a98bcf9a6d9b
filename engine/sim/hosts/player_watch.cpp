// Watches what players print, and how long they are silent: the limits that the host enforces by
// itself.
#include <poll.h>
#include <unistd.h>

#include <array>

#include "engine/sim/hosts/process_host_state.hpp"

namespace lockstep::sim {

namespace {

// A player that waits for a processor is not idle: when it could run, but got less than half of the
// time, the limit is stretched up to this often.
constexpr double starved_stretch = 4;
// Asking for the time that a player has used takes as long as hearing it, so only one that has been
// silent for this part of the limit is asked.
constexpr double noticed_after = 0.1;
constexpr double foreign_wait_s = 3;  // of all players together

}  // namespace

void ProcessHost::State::read_output(int rank) {
  Player& from = player(rank);
  std::array<char, 4096> buffer;
  ssize_t count;
  while ((count = ::read(from.child.output(), buffer.data(), buffer.size())) > 0) {
    from.output_bytes += count;
    const auto room = limits.output_bytes - static_cast<std::int64_t>(from.output.size());
    from.output.append(buffer.data(),
                       static_cast<std::size_t>(std::min<std::int64_t>(room, count)));
    if (from.output_bytes > limits.output_bytes) {
      return ends_badly(rank, {FindingKind::output,
                               text("rank ", rank, " printed more than ", limits.output_bytes,
                                    " bytes in one case: does it print inside a loop?"),
                               {rank},
                               {}});
    }
  }
  if (count == 0) from.output_open = false;
}

void ProcessHost::State::check_idle(int rank, Clock::time_point now) {
  Player& of = player(rank);
  if (!of.may_speak()) return;
  const double silent_s = seconds_between(of.heard, now);
  if (silent_s < limits.idle_s * noticed_after) return;
  if (!of.cpu_s) of.cpu_s = of.child.cpu_s();
  if (silent_s < limits.idle_s) return;
  const bool starved = of.child.cpu_s() - *of.cpu_s < limits.idle_s / 2;
  if (starved && !of.child.asleep() && silent_s < limits.idle_s * starved_stretch) return;
  ends_badly(rank, silent_for(rank, limits.idle_s));
}

// All strands wait, and still a player may be at work: on a thread that is no strand, and that is
// on its way to a request. What it says comes before a deadlock that it would have prevented.
void ProcessHost::State::hear_foreign_threads() {
  const auto begin = Clock::now();
  const auto at_work = [&](int rank) { return !player(rank).child.asleep(); };
  for (int rank = 0; rank < ranks && !result.finding; ++rank) {
    while (!result.finding && !player(rank).bad_end && at_work(rank) &&
           seconds_between(begin, Clock::now()) < foreign_wait_s) {
      pollfd event{player(rank).child.socket(), POLLIN, 0};
      if (poll(&event, 1, 1) > 0) break;
    }
    if (!player(rank).done) hear(rank);
  }
}

// It names the limit, not the time that was measured, so that it says the same each time.
Finding ProcessHost::State::silent_for(int rank, double limit_s) {
  const Player& of = player(rank);
  const std::string silent = text("for more than ", limit_s, " s",
                                  of.last_call.empty() ? "" : " since its call at ", of.last_call);
  const bool asleep = of.child.asleep();
  return {FindingKind::time,
          asleep
              ? text("rank ", rank, " slept ", silent,
                     ", outside the lab's own operations: it waits for something that never "
                     "happens, such as a lock that it holds, a thread, or the end of a long sleep")
              : text("rank ", rank, " ran ", silent,
                     " without communicating or returning: an endless loop, or "
                     "one whose work grows too fast, as O(n²)?"),
          {rank},
          of.last_call,
          asleep ? "asleep" : ""};
}

// A player that failed, or was silent for most of the time, is to blame; otherwise all are busy
// with each other.
void ProcessHost::State::found_too_long() {
  found_bad_end();
  const auto now = Clock::now();
  for (int rank = 0; rank < ranks; ++rank) {
    const Player& of = player(rank);
    const double silent_s = seconds_between(of.heard, now);
    if (of.may_speak() && silent_s > limits.case_s / 2) {
      return found(silent_for(rank, limits.case_s / 2));
    }
  }
  found({FindingKind::time,
         text("the ranks were still busy after ", limits.case_s,
              " s of one case: an endless exchange?"),
         {},
         {}});
}

}  // namespace lockstep::sim
