// The state of the host of processes: of each player what it said, printed and ended with, and
// when; and of the case that they play. Internal to engine/sim.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>

#include "engine/sim/hosts/child_process.hpp"
#include "engine/sim/hosts/frame.hpp"
#include "engine/sim/hosts/process_host.hpp"

namespace lockstep::sim {

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

struct Player {
  Player(const std::vector<std::string>& command, const PlayerLimits& limits, Surroundings where)
      : child(command, limits, where), reader(limits.frame_bytes_max) {}

  ChildProcess child;
  FrameReader reader;
  std::deque<OutgoingFrame> outgoing;
  std::uint32_t sequence = 0;
  bool output_open = true;  // it may close its ends

  // The state of the case at hand:
  int running = 0;  // strands that are not blocked
  bool done = false;
  std::string output;
  std::int64_t output_bytes = 0;
  std::string last_call;        // its place, of any strand
  Clock::time_point heard;      // when it last said something, or was told to go on
  std::optional<double> cpu_s;  // used, when it had been silent for a while
  // Its memory, once somebody has asked for peaks. What an answer brought lies there until the part
  // has it, or longer, and is not the part's.
  bool is_watched = false;
  std::int64_t brought_bytes = 0;  // by the last answer
  std::optional<std::int64_t> peak_bytes;
  // How it failed by itself. It waits here until no other rank is running, so that of several ranks
  // that fail side by side the lowest is named, whichever was heard first.
  std::optional<Finding> bad_end;

  void hears(Clock::time_point now) {
    heard = now;
    cpu_s.reset();
  }
  bool may_speak() const { return !done && running > 0 && !bad_end; }
  void watch_peak(std::int64_t brought);  // from here on
  void look_at_peak();
};

struct ProcessHost::State {
  std::vector<std::string> command;
  PlayerLimits limits;
  std::optional<DebuggedPlayer> debugged;
  std::vector<std::unique_ptr<Player>> players;  // of a rank that was killed none
  bool usable = true;

  // One run.
  Core* core = nullptr;
  CaseResult result;
  int ranks = 0;

  void found(Finding finding) {
    if (!result.finding) result.finding = std::move(finding);
  }
  void ends_badly(int rank, Finding finding) {
    auto& bad_end = player(rank).bad_end;
    if (!bad_end) bad_end = std::move(finding);
  }
  bool someone_ended_badly() const {
    return std::any_of(players.begin(), players.end(),
                       [](const auto& one) { return one && one->bad_end; });
  }
  void no_frame(int rank, const std::string& why) {
    ends_badly(
        rank,
        {FindingKind::crash,
         text("rank ", rank,
              " broke its connection to the lab: it sent something that is not a frame (", why,
              "); was fd 3 written to, memory overwritten, or a std::thread started where a strand "
              "belongs?"),
         {rank},
         {}});
  }
  Player& player(int rank) { return *players[static_cast<std::size_t>(rank)]; }

  void start_players(int count);

  void go_on();
  void found_bad_end();
  void give_cases(const std::vector<Bytes>& inputs);
  void wait_for_players();
  void drive_core();
  void post(int rank, OutgoingFrame frame);
  void answer(Actor actor, const Reply& reply);
  void flush(int rank);
  void hear(int rank);
  void take(int rank, const IncomingFrame& frame);
  void take_request(Actor actor, Request request);
  void take_failure(int rank, Failure failure, const std::string& what,
                    const std::vector<std::uint64_t>& calls);
  void take_result(int rank, std::span<const std::byte> bytes);
  void read_output(int rank);
  void check_idle(int rank, Clock::time_point now);
  Finding silent_for(int rank, double limit_s);
  void found_too_long();
  void hear_foreign_threads();
  void lost(int rank);
};

}  // namespace lockstep::sim
