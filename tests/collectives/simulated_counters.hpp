// Runs a program of ./lab sim among fibers, and hands out what the simulator counted.
#pragma once

#include "engine/apps/sim_programs.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/tensor/symbolic.hpp"

namespace lockstep::test {

constexpr std::int64_t element_bytes = 4;  // of float32, which is what is sent

enum class Values : std::uint8_t { none, all };

// Nothing is left to chance, so once is enough. Throws Error when the run or a value is wrong.
inline sim::Counters counted(const apps::SimProgram& program, int ranks, std::int64_t count,
                             Values values, const sim::Network& network = {}) {
  sim::Options options;
  options.ranks = ranks;
  options.network = network;
  options.record = sim::Record::totals;
  options.limits.bytes_max = std::int64_t{1} << 60;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    SymbolicDevice symbolic;
    CpuDevice numbers;
    Device& own = values == Values::none ? static_cast<Device&>(symbolic) : numbers;
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    program.run({*group, count, DType::float32, own, network.ranks_per_node});
  });
  if (result.finding) throw Error(result.finding->message);
  return core.counters();
}

inline const apps::SimProgram& program_named(std::string_view name) {
  for (const auto& program : apps::sim_programs()) {
    if (program.name == name) return program;
  }
  throw Error(text("there is no program ", name));
}

}  // namespace lockstep::test
