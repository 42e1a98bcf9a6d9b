// Nothing that a rank started outlives the run, even what left its process group or lost its
// parent.
//
// Every process of a run carries the launcher's mark in its environment, which its children
// inherit. Whoever carries it when an attempt is over is killed. When the launcher itself is
// killed, ranks die with it (PR_SET_PDEATHSIG), and a guard, a small process that waits for nothing
// else, kills the rest. Out of reach are processes that wiped their environment, or that changed
// their user.
#pragma once

#include <sys/types.h>

#include <string>

#include "engine/comm/socket.hpp"

namespace lockstep::launch {

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

 private:
  std::string mark_;
  comm::Descriptor
      alive_;  // the guard reads its other end: a byte is the run's end, none its death
  pid_t pid_ = -1;
};

}  // namespace lockstep::launch
