#include "tests/train/fiber_ranks.hpp"

#include <exception>

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"

namespace lockstep::test {

void on_fibers(int ranks, const std::function<void(comm::ProcessGroup&)>& body) {
  on_fibers_with_strands(ranks, [&](comm::ProcessGroup& group, Strands&) { body(group); });
}

void on_fibers_with_strands(int ranks,
                            const std::function<void(comm::ProcessGroup&, Strands&)>& body) {
  constexpr std::size_t stack_bytes = std::size_t{1} << 20;
  sim::Options options;
  options.ranks = ranks;
  options.record = sim::Record::totals;
  options.limits.messages_max = options.limits.requests_max = std::int64_t{1} << 40;
  options.limits.bytes_max = std::int64_t{1} << 40;
  sim::Core core(options);
  std::exception_ptr first;
  const auto result =
      sim::run_fibers(core,
                      [&](sim::FiberRank& self) {
                        try {
                          const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
                          body(*group, self.strands);
                        } catch (...) {
                          if (!first) first = std::current_exception();
                          throw;
                        }
                      },
                      {.stack_bytes = stack_bytes});
  if (first) std::rethrow_exception(first);
  if (result.finding) throw Error(result.finding->message);
}

}  // namespace lockstep::test
