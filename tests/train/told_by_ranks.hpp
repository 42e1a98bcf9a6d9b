// What each rank of the simulator throws, where some of them fail.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"

namespace lockstep::test {

// By rank; empty where a rank throws nothing.
inline std::vector<std::string> told_by_ranks(
    int ranks, const std::function<void(comm::ProcessGroup&)>& body) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks));
  sim::Options options;
  options.ranks = ranks;
  sim::Core core(options);
  sim::run_fibers(core, [&](sim::FiberRank& self) {
    try {
      const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
      body(*group);
    } catch (const Error& error) {
      messages[static_cast<std::size_t>(self.rank)] = error.what();
      throw;
    }
  });
  return messages;
}

}  // namespace lockstep::test
