// Nothing that a rank started outlives the run, even what left its process group or lost its
// parent.
//
// Every process of a run carries the launcher's mark in its environment, which its children
// inherit. Whoever carries it when an attempt is over is killed. When the launcher itself is
// killed, ranks die with it (PR_SET_PDEATHSIG), and a guard, a small process that waits for nothing
// else, kills the rest and removes the run's temporary files. Out of reach are processes that wiped
// their environment, or that changed their user.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "engine/comm/stores/socket.hpp"

namespace lockstep::launch {

inline constexpr const char* mark_variable = "LOCKSTEP_LAUNCHER";

// Kills every process whose environment has LOCKSTEP_LAUNCHER=mark, until none is found.
void kill_marked(const std::string& mark);

class Guard {
 public:
  // Forks the guard. Requires that no other thread runs yet.
  Guard();
  ~Guard();  // the run is over: the guard ends and touches nobody
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  const std::string& mark() const { return mark_; }
  // "LOCKSTEP_LAUNCHER=mark": what its processes carry.
  std::string entry() const;
  // From now on, all that this process starts inherits the mark. Requires that no other thread runs
  // yet.
  void mark_children() const;
  // A folder that the guard removes if the launcher cannot.
  void remove_after_us(const std::filesystem::path& folder) const;

 private:
  std::string mark_;
  // The guard reads the other end: a folder's path, then a byte 0 at the run's end, or nothing more
  // when the launcher has died.
  comm::Descriptor alive_;
  pid_t pid_ = -1;
};

}  // namespace lockstep::launch
