// Decides what all nodes do next, in one place: the launcher of node 0. Pure: it is told what
// happened on each node, and when, and answers with a command for all of them; somebody else
// carries it there. Time is a number, so a simulation drives it as well.
//
// Membership may be fixed:
//   begin attempt 0 ── a rank fails, a launcher is lost, a person interrupts ──► stop
//   stop            ── every node has ended its ranks ──► begin the next attempt, or end
//   begin           ── every node's ranks have ended well ──► end with code 0
//
// Launchers may come and go; then an attempt is a round, which has members:
//   gathering ── MAX are there, or MIN and the last call is over ──► begin a round
//   gathering ── too few for too long ──► end with code 1
//   running   ── one arrives, and a place is free ──► stop, with time to save ──► gathering
//   running   ── a rank fails, or a member departs ──► stop ──► gathering, or end with code 1
//   running   ── every node's ranks have ended well ──► end with code 0
// docs/decisions/0087 has each transition, and why.
//
// Invariants
//   1. An attempt begins only when no process of the one before is left on any node: a restart is
//      of the whole group of ranks, as torchrun's is.
//   2. Failures of ranks use up restarts, one for an attempt, and so do departures. An arrival uses
//      none. An interrupt of node 0 ends all, and so does a run that only spare ranks did not see
//      through, and one that its ranks refuse. Where membership is fixed, a lost launcher ends all.
//   3. Node 0 is in every round: it hosts the store.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/launch/failure.hpp"

namespace lockstep::launch {

struct Command {
  enum class Kind : std::uint8_t { begin, stop, wait, end } kind = Kind::stop;
  // The time of a stop between SIGTERM and SIGKILL: after a failure nothing is worth long, but
  // ranks that are well save what they have.
  enum class Grace : std::uint8_t { of_failure, to_save };
  int attempt = 0;          // begin
  int code = 0;             // end: the launcher's exit code
  std::string report = {};  // begin: why the last attempt ended, wait: likewise and what is waited
                            // for, end: why the run failed; may be empty
  Grace grace = Grace::of_failure;  // stop
  int restarts = 0;                 // begin: how many are used up
  std::vector<int> members = {};    // begin: the launchers that take part, by node
};

// The nodes of a round, where launchers come and go.
struct Membership {
  int nodes_min = 1, nodes_max = 1;
  double last_call_s = 3;  // for more than MIN
  double timeout_s = 600;  // for MIN
};

struct Newcomer {
  int ranks = 1;
  std::optional<int> wish = std::nullopt;  // its node number, if no earlier one has it
  std::string host = {};
};

class Coordinator {
 public:
  // Membership is fixed, and launcher n is node n.
  Coordinator(const std::vector<int>& ranks_per_node, int max_restarts);
  // Launchers come and go. The first that arrives is 0, which becomes node 0 of every round; each
  // has a number of its own, higher than those before it.
  Coordinator(int max_restarts, const Membership& membership);

  // The first attempt, where membership is fixed.
  Command begin() const;

  // The time of the events that follow, in seconds; never less than before. Where membership is
  // fixed, time does not count.
  Coordinator& at(double now_s);
  // Nothing happened but that it is later.
  std::optional<Command> time_passed() { return gather(); }
  // When time_passed() answers, if nothing happens before; nothing: never.
  std::optional<double> wakes_at() const;

  std::optional<Command> arrived(int launcher, const Newcomer& newcomer);
  // The launcher is gone, and its ranks with it.
  std::optional<Command> departed(int launcher, const std::string& why);
  // A rank of the launcher has failed; or it was stopped, and could not save.
  std::optional<Command> failed(int launcher);
  // The launcher was told by `who` ("SIGINT") to end. Node 0, or any where membership is fixed,
  // ends the run; another leaves it, with its ranks' end.
  std::optional<Command> interrupted(int launcher, const std::string& who);
  // The launcher has no process left; `stopped` is how many it had to stop.
  std::optional<Command> ended(int launcher, const std::vector<Failure>& failures, int stopped);

  // The launcher's number in this round; nothing: it has none, and waits.
  std::optional<int> node_of(int launcher) const;
  int restarts() const { return restarts_; }
  // The number of launchers that are there, also those that wait.
  int present() const;

 private:
  struct Launcher {
    Newcomer self;
    bool ended = false;  // its ranks of this attempt
    bool well = false;   // and none has failed
    bool gone = false;
    bool leaves = false;  // when its ranks have ended
  };
  enum class Phase : std::uint8_t { gathering, running, stopping, over };

  std::optional<Command> stop_once(Command::Grace grace);
  std::optional<Command> decide();
  std::optional<Command> gather();
  Command gather_or_wait(const std::string& why);
  Command begin_round();
  Command end(int code, std::string report);
  std::string attempt_named() const;
  std::string what_is_missing() const;
  void note_change(std::string why);
  std::vector<int> next_members() const;
  bool are_enough() const;
  int ranks_of(const std::vector<int>& launchers) const;
  bool is_done(int launcher) const;

  std::optional<Membership> membership_;  // none: fixed
  int max_restarts_ = 0;
  std::map<int, Launcher> launchers_;  // by number, so in the order of arrival
  std::vector<int> members_;           // of this attempt, by node
  Phase phase_ = Phase::gathering;
  int attempt_ = 0, restarts_ = 0;
  int ranks_needed_ = 0;  // a smaller world was refused by its ranks
  double now_s_ = 0;

  // The attempt that runs or is being stopped.
  Command::Grace grace_ = Command::Grace::of_failure;
  std::string fatal_;                    // why there is no restart
  bool arrival_ = false, left_ = false;  // it was stopped for an arrival; a member has left it
  std::string changes_;                  // sentences of both
  std::vector<Failure> failures_;
  int stopped_ = 0;

  // While gathering: since when the last call runs, or since when they are too few.
  std::optional<double> changed_at_s_, enough_since_s_, short_since_s_;
  std::string told_;  // of the last round, for the report of the next
};

}  // namespace lockstep::launch
