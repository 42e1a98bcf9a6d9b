// Simulated ranks that go by virtual time, as workers of servers must.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"

// Catch2's own macros belong to the test; a rank throws.
#define LOCKSTEP_EXPECT(...) LOCKSTEP_CHECK((__VA_ARGS__), "expected by a test, of every rank")

namespace lockstep::test {

// What a run on simulated ranks came to.
struct SimRun {
  std::string finding;              // of the simulator; empty: none
  std::vector<std::string> thrown;  // by each rank; empty: nothing
};

using RankBody = std::function<void(comm::ProcessGroup& group, sim::FiberRank& rank)>;
// Runs `body` on ranks that are fibers, one at a time, the earliest first.
SimRun on_ranks(int ranks, const RankBody& body, const sim::Faults& faults = {});

// The message of what `body` throws; "" if it throws nothing.
std::string message_of(const std::function<void()>& body);

}  // namespace lockstep::test
