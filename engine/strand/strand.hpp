// Strands: the concurrent pieces of one rank (an asynchronous operation, a loader's worker, a
// checkpoint writer). Threads on real backends; in a player, threads that pass a baton, so that
// only one runs at a time and "all are blocked" is a fact that can be seen.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/strand/monitor.hpp"

namespace lockstep {

class Strand {
 public:
  // Joins. In a simulated world, an exception that passes does not wait for a strand that waits for
  // ever: the strand stays where it is.
  virtual ~Strand() = default;
  // Blocks until the strand's body has returned; rethrows what it threw. At most once.
  virtual void join() = 0;
};

class Strands {
 public:
  virtual ~Strands() = default;
  virtual std::unique_ptr<Strand> start(std::string name, std::function<void()> body) = 0;
  // For what strands started here share with each other and with the one that starts them.
  virtual std::unique_ptr<Monitor> make_monitor() = 0;
};

// Strands that are plain threads and run in parallel.
std::unique_ptr<Strands> make_thread_strands();

}  // namespace lockstep
