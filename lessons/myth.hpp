// What the myths share: lessons/NN_lesson/myths/NAME.cpp prints a claim that is often taught, then
// what it measures, and ends with 0 if the measurement contradicts the claim. ./lab myth runs them.
#pragma once

#include <cstdint>
#include <functional>
#include <iostream>
#include <string>

#include "engine/base/error.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"

namespace lockstep::myth {

// Prints the claim in quotes; ./lab myth lists it from here.
inline void claim(const std::string& words) { std::cout << '"' << words << "\"\n"; }

// What main returns. `instead` is the last word: what is true in the place of the claim.
inline int refuted_if(bool contradicted, const std::string& instead) {
  std::cout << (contradicted ? instead : "the measurement does not contradict the claim") << "\n";
  return contradicted ? 0 : 1;
}

// Runs the program on every one of so many simulated ranks, all in this process.
//   Returns  what the simulator counted: bytes, messages, depth, virtual time
//   Throws   Error with the diagnosis when a rank fails, or all wait for ever
inline sim::Counters on_ranks(int ranks,
                              const std::function<void(comm::ProcessGroup&, Device&)>& program) {
  sim::Options options;
  options.ranks = ranks;
  options.limits.bytes_max = std::int64_t{1} << 40;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    program(*comm::make_sim_group(self.port, self.rank, self.ranks), device);
  });
  if (result.finding) throw Error(result.finding->message);
  return core.counters();
}

}  // namespace lockstep::myth
