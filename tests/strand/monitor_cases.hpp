// What holds of a monitor on every kind of strands. Run on threads by tests/strand, and inside a
// player, on strands that pass a baton, by tests/sim.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/strand/strand.hpp"

namespace lockstep::test {

struct QueueSeen {
  std::vector<int> times;   // how often number i came out
  std::size_t longest = 0;  // the queue ever was
  int inside_most = 0;      // strands that were inside at once
};

// `sides` strands put numbers into a queue that may hold `capacity`, as many others take them out
// until nothing more comes. `pause` is called inside as well: it may let other strands run.
inline QueueSeen pass_through_queue(Strands& strands, int sides, int numbers, std::size_t capacity,
                                    const std::function<void()>& pause) {
  const auto monitor = strands.make_monitor();
  std::deque<int> queue;  // this and all below: guarded by the monitor
  QueueSeen seen{std::vector<int>(static_cast<std::size_t>(sides * numbers)), 0, 0};
  int inside = 0, putting = sides;
  const auto with_company = [&](auto action) {
    seen.inside_most = std::max(seen.inside_most, ++inside);
    pause();
    action();
    --inside;
  };
  const auto put = [&](int number) {
    const std::scoped_lock guard(*monitor);
    monitor->wait([&] { return queue.size() < capacity; });
    with_company([&] { queue.push_back(number); });
    seen.longest = std::max(seen.longest, queue.size());
    monitor->notify_all();
  };
  const auto take = [&] {
    const std::scoped_lock guard(*monitor);
    monitor->wait([&] { return !queue.empty() || putting == 0; });
    if (queue.empty()) return false;
    with_company([&] {
      ++seen.times[static_cast<std::size_t>(queue.front())];
      queue.pop_front();
    });
    monitor->notify_all();
    return true;
  };
  std::vector<std::unique_ptr<Strand>> all;
  for (int side = 0; side < sides; ++side) {
    all.push_back(strands.start("putter", [&, side] {
      for (int i = 0; i < numbers; ++i) put(side * numbers + i);
      const std::scoped_lock guard(*monitor);
      --putting;
      monitor->notify_all();
    }));
    all.push_back(strands.start("taker", [&] {
      while (take()) {
      }
    }));
  }
  for (const auto& strand : all) strand->join();
  return seen;
}

}  // namespace lockstep::test
