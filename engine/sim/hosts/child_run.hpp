// A run of fibers in a child process: code of a rank that crashes, ends the process or never gives
// way ends the child alone, and the parent names the rank and its last call. Ranks that are fibers
// share one process, so the operating system cannot tell them apart; memory that child and parent
// share can.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "engine/sim/hosts/fiber_host.hpp"

namespace lockstep::sim {

// The notes that the fiber host makes while it runs, for an explanation from outside.
//   Thread  one writes; another, or another process that was forked from it, reads
class LastSign {
 public:
  // The rank runs now, and its last call was in this line; file names that do not outlive the run
  // are kept (their end, where they are long).
  void runs(int rank, const char* file, int line) {
    file_.store(file, std::memory_order_relaxed);
    line_.store(line, std::memory_order_relaxed);
    rank_.store(rank, std::memory_order_release);
  }
  void runs(int rank, const std::string& file, int line);
  void nobody_runs() { rank_.store(-1, std::memory_order_release); }

  int rank() const { return rank_.load(std::memory_order_acquire); }  // -1: nobody
  std::string place() const;  // "work/ring.cpp:21", or empty

 private:
  std::atomic<int> rank_ = -1;
  std::atomic<const char*> file_ = nullptr;  // nullptr: kept_
  std::atomic<int> line_ = 0;
  std::array<std::atomic<char>, 160> kept_{};
};

struct ChildRun {
  int code = 0;                    // what body returned
  std::optional<Finding> finding;  // the child did not get that far
};

// Calls `body` in a child, with options for run_fibers, and waits for it. What the child prints
// goes where the parent's output goes.
//   Throws  Error when no process can be started
ChildRun run_in_child(const std::function<int(const FiberOptions& fibers)>& body,
                      double idle_s = FiberOptions{}.idle_s);

}  // namespace lockstep::sim
