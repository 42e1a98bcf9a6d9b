// Ranks as processes: each player is a child with one inherited socket (fd 3), which carries its
// requests to a core in this process. Nothing a player says is trusted: lengths are checked before
// they are used, every read and write has a deadline, and evidence is only what the core saw.
//
// Frame: {u32 length; u16 kind; u16 strand; u32 sequence} little-endian, then `length` bytes.
// A player is started once and given case after case; after a failure it is not used again, nor is
// that of a rank that a fault killed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/sim/core/core.hpp"

namespace lockstep::sim {

struct PlayerLimits {
  double idle_s = 3.0;   // wall time without a request from a rank that should run
  double case_s = 60.0;  // wall time of one case
  double cpu_s = 10.0;   // per player process
  // Address space. 0: for players built with a sanitizer, which needs all of it and a file to
  // write: neither address space nor files are limited.
  std::int64_t memory_bytes = std::int64_t{512} << 20;
  std::int64_t files = 16;               // open at a time
  std::int64_t output_bytes = 64 << 10;  // stdout and stderr of one rank in one case
  std::int64_t frame_bytes_max = std::int64_t{32} << 20;
  // The command that confines a player and then becomes it, such as lab-box
  // (grader/sandbox/box_main.cpp). Its words stand before the player's. It passes fd 3 on, and
  // sends one byte on fd 4 at the moment before it becomes the player. Empty: nothing stands
  // between.
  std::vector<std::string> launcher;
};

// One player that runs under a debugger, on the lab's own terminal: `command` comes before the
// player's. It is not limited, and has the lab's environment.
struct DebuggedPlayer {
  int rank = 0;
  std::vector<std::string> command;
};

struct CaseResult {
  std::vector<Bytes> results;       // by rank; empty where the rank gave none
  std::vector<int> killed;          // the ranks that gave none, because a fault ended them
  std::optional<Finding> finding;   // what went wrong, the first cause
  std::vector<std::string> output;  // what each rank printed, capped
};

class ProcessHost {
 public:
  // Starts `players` processes of `command` (argv; absolute path first). Their environment is empty
  // but for what PlayerLimits needs. Throws Error when one cannot be started.
  ProcessHost(std::vector<std::string> command, int players, const PlayerLimits& limits,
              const std::optional<DebuggedPlayer>& debugged = std::nullopt);
  ~ProcessHost();  // kills and reaps what is left

  // Gives the first core.ranks() players a case each, starting those that are not there, and drives
  // the core until every one has returned its result, was killed by a fault, or something went
  // wrong. `inputs` are by rank.
  CaseResult run(Core& core, const std::vector<Bytes>& inputs);

  // The memory that a rank's player holds at this moment, as the system counts it: nothing the
  // player says enters. While a service serves the rank's request, the player stands still. Nothing
  // where the system does not tell, and for players whose memory is not their own: under a
  // sanitizer or a debugger.
  std::optional<std::int64_t> memory_bytes(int rank) const;
  // The most that it held at any moment since the last time this was asked, without what an answer
  // brought it: also what it made and freed while nobody looked. The first time in a case, which
  // has nothing to tell, begins the watch; it looks at each of the rank's requests.
  std::optional<std::int64_t> take_peak_bytes(int rank);

  // False after a failed case: the players are gone; make a new host.
  bool usable() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::sim
