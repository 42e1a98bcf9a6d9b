// The queues of all streams, and who carries out what is in them. Nothing runs when the host asks
// for it: operations wait in the queue of their track until somebody waits, and the next one is
// then drawn, from a seed, among those that the clocks allow. So a program that forgot a wait
// meets the order that it did not think of, and the same seed meets it again.
//
// Invariants
//   1. An operation runs after everything that is before it, and at most one runs at a time.
//   2. When run_until(clock) returns, all that the clock counts has run. How much else has run is
//      drawn: nothing, everything that may, or something between.
//   3. A queue is as long as a GPU's: asking for more than `depth` operations makes some run.
//   4. An operation in steps that waits for another process keeps its place, and other streams go
//      on. When all wait, so does the host, and calls idle() over and over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "engine/paper/order/timeline.hpp"

namespace lockstep::paper {

enum class Progress { waits, done };

struct Work {
  Operation operation = 0;
  std::function<void()> run = {};
  std::function<Progress()> step = {};  // instead of `run`, until it is done
  std::function<bool()> wanted = {};    // by another process; empty: never
  // Seconds of the machine's steady clock. An operation in steps has begun with its first one.
  double asked_s = 0, began_s = 0;
};

// An operation that was carried out, and when.
struct Carried {
  Operation operation = 0;
  double asked_s = 0, began_s = 0, ended_s = 0;
};

class Schedule {
 public:
  static constexpr std::size_t depth = 1024;  // of one stream; CUDA names no number

  Schedule(const StreamTimeline& timeline, std::uint64_t seed)
      : timeline_(timeline), random_(seed) {}

  void add(Work work);
  bool finished(const Clock& clock) const;
  void run_until(const Clock& clock);

  // Runs one operation that `clock` counts, or none, as a query does. Returns true if all have run.
  bool step_towards(const Clock& clock);

  // Runs what another process waits for, as far as it goes.
  void run_wanted();

  // Sets the function that is called while all that may run waits for other processes. `turns` says
  // how often it was called already.
  void when_idle(std::function<void(unsigned turns)> idle) { idle_ = std::move(idle); }

  // Drops the queue of the device's tracks, because the device has failed: it counts as done and
  // never runs.
  void drop(int device);

  // From here on what is carried out is noted, in the order in which it ends.
  void keep_history() { keeps_history_ = true; }
  const std::vector<Carried>& history() const { return history_; }

  void reseed(std::uint64_t seed) { random_.seed(seed); }
  std::size_t waiting() const { return waiting_; }

 private:
  bool may_run(const Work& work) const;
  // Runs one operation, drawn among those that may run: of all, or of those that `clock` counts.
  enum class Among { all, counted };
  enum class Ran { one, waits, none };
  Ran run_one(const Clock& clock, Among among);
  Progress run_head(Track track);
  std::size_t draw(std::size_t count);

  const StreamTimeline& timeline_;
  std::mt19937_64 random_;
  std::vector<std::deque<Work>> queues_;  // by track
  Clock done_;
  std::size_t waiting_ = 0;
  bool keeps_history_ = false;
  std::vector<Carried> history_;
  std::function<void(unsigned)> idle_ = [](unsigned) {};
};

}  // namespace lockstep::paper
