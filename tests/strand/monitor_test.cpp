// Monitors on threads; on strands that pass a baton: tests/sim/process_host_test.cpp.
#include "tests/strand/monitor_cases.hpp"

#include <algorithm>
#include <thread>

#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("monitor: what strands pass through a queue arrives exactly once, one inside at a time") {
  const auto strands = make_thread_strands();
  const int sides = GENERATE(1, 2, 4);
  const auto seen = test::pass_through_queue(*strands, sides, 50, 3, std::this_thread::yield);
  CHECK(std::all_of(seen.times.begin(), seen.times.end(), [](int times) { return times == 1; }));
  CHECK(seen.longest <= 3);
  CHECK(seen.inside_most == 1);
}

TEST_CASE("monitor: wait returns at once when its condition holds, and looks again when told") {
  const auto strands = make_thread_strands();
  const auto monitor = strands->make_monitor();
  int stage = 0;
  std::unique_ptr<Strand> other;
  {
    const std::scoped_lock inside(*monitor);
    monitor->wait([&] { return stage == 0; });
    other = strands->start("other", [&] {
      const std::scoped_lock entered(*monitor);
      stage = 1;
      monitor->notify_all();  // the condition of the first does not hold yet
      monitor->wait([&] { return stage == 2; });
      stage = 3;
      monitor->notify_all();
    });
    monitor->wait([&] { return stage == 1; });
    stage = 2;
    monitor->notify_all();
    monitor->wait([&] { return stage == 3; });
  }
  other->join();
  CHECK(stage == 3);
}
