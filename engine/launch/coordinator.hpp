// Decides what all nodes do next, in one place: the launcher of node 0. Pure: it is told what
// happened on each node and answers with a command for all of them; somebody else carries it there.
//
//   begin attempt 0 ── a rank fails, a launcher is lost, a person interrupts ──► stop
//   stop            ── every node has ended its ranks ──► begin the next attempt, or end
//   begin           ── every node's ranks have ended well ──► end with code 0
//
// Invariants
//   1. An attempt begins only when no process of the one before is left on any node: a restart is
//      of the whole group of ranks, as torchrun's is.
//   2. Only failures of ranks use up restarts, one each. A lost launcher or an interrupt ends all,
//      and so do a run that only spare ranks did not see through, and one that its ranks refuse.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/launch/failure.hpp"

namespace lockstep::launch {

struct Command {
  enum class Kind : std::uint8_t { begin, stop, end } kind = Kind::stop;
  int attempt = 0;     // begin
  int code = 0;        // end: the launcher's exit code
  std::string report;  // begin: why the last attempt failed, end: why the run did; may be empty
};

class Coordinator {
 public:
  Coordinator(std::vector<int> ranks_per_node, int max_restarts)
      : ranks_per_node_(std::move(ranks_per_node)),
        max_restarts_(max_restarts),
        nodes_(ranks_per_node_.size()) {}

  Command begin() const { return {Command::Kind::begin, attempt_, 0, ""}; }

  // A rank of `node` has failed.
  std::optional<Command> failed(std::size_t node);
  // `node` was told by `who` ("SIGINT") to end the run.
  std::optional<Command> interrupted(std::size_t node, const std::string& who);
  // The launcher of `node` is gone, and its ranks with it.
  std::optional<Command> lost(std::size_t node, const std::string& why);
  // `node` has no process left; `stopped` is how many it had to stop.
  std::optional<Command> ended(std::size_t node, std::vector<Failure> failures, int stopped);

 private:
  struct Node {
    bool ended = false;
    bool lost = false;
  };
  std::optional<Command> stop_once();
  std::optional<Command> decide();

  std::vector<int> ranks_per_node_;
  int max_restarts_ = 0;
  std::vector<Node> nodes_;
  int attempt_ = 0;
  bool stopping_ = false;
  std::string fatal_;  // why there is no restart
  std::vector<Failure> failures_;
  int stopped_ = 0;
};

}  // namespace lockstep::launch
