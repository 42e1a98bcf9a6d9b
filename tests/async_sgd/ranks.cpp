#include "tests/async_sgd/ranks.hpp"

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/core/services.hpp"

namespace lockstep::test {

SimRun on_ranks(int ranks, const RankBody& body, const sim::Faults& faults) {
  constexpr std::size_t stack_bytes = std::size_t{1} << 20;
  sim::StoreService nobody_asks;  // with a service, the core goes by virtual time
  sim::Options options;
  options.ranks = ranks;
  options.faults = faults;
  options.services = {&nobody_asks};
  options.limits.messages_max = options.limits.requests_max = std::int64_t{1} << 40;
  options.limits.bytes_max = std::int64_t{1} << 40;
  sim::Core core(options);
  SimRun run;
  run.thrown.resize(static_cast<std::size_t>(ranks));
  const auto result =
      sim::run_fibers(core,
                      [&](sim::FiberRank& self) {
                        try {
                          const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
                          body(*group, self);
                        } catch (const std::exception& error) {
                          run.thrown[static_cast<std::size_t>(self.rank)] = error.what();
                          throw;
                        }
                      },
                      {.stack_bytes = stack_bytes});
  if (result.finding) run.finding = result.finding->message;
  return run;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace lockstep::test
