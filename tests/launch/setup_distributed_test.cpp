// The part setup_distributed on real processes, real sockets and a real clock.
#include "engine/launch/setup_distributed.hpp"

#include "engine/apps/this_machine.hpp"
#include "engine/comm/store_rendezvous.hpp"
#include "engine/launch/spawn.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::launch;

namespace {

enum class StoreIs : std::uint8_t { the_launchers, rank_0s };

Session set_up(StoreIs whose, double timeout_s) {
  auto variables = apps::variables_of(process_environment());
  if (whose == StoreIs::rank_0s) variables.erase("LOCKSTEP_STORE");
  apps::ThisMachine machine;
  return setup_distributed(variables, machine, timeout_s);
}

void require(bool what, const char* words) {
  if (!what) throw Error(words);
}

}  // namespace

TEST_CASE("setup_distributed: processes set themselves up, with the launcher's store or rank 0's") {
  const auto whose = GENERATE(StoreIs::the_launchers, StoreIs::rank_0s);
  const int ranks = GENERATE(1, 2, 3, 5);
  INFO(ranks << " ranks");
  CHECK_NOTHROW(spawn(ranks, [&](World& world) {
    const auto session = set_up(whose, 30);
    require(session.rank == world.environment.rank && session.size == ranks, "another place");
    require(session.backend == Backend::gloo, "no machine here has a GPU for a group");
    require((session.hosted != nullptr) == (whose == StoreIs::rank_0s && session.rank == 0),
            "rank 0 serves the store, where the launcher does not");
    CpuDevice device;
    const Tensor sum = full({1}, session.rank + 1, DType::int64, device);
    session.group->all_reduce(sum, ReduceOp::sum);
    require(sum.item() == ranks * (ranks + 1) / 2, "a wrong sum");
    session.group->barrier();  // rank 0 must not leave first
  }));
}

TEST_CASE("setup_distributed: who never comes is named by everybody else") {
  const auto whose = GENERATE(StoreIs::the_launchers, StoreIs::rank_0s);
  CHECK_NOTHROW(spawn(3, [&](World& world) {
    const int rank = world.environment.rank;
    if (rank == 2) return;
    // Both begin together, and rank 0 waits longer, so that its store is there as long as rank 1
    // asks.
    world.store->set(text("begins/", rank), "");
    world.store->wait(std::vector<std::string>{"begins/0", "begins/1"}, 60);
    const double timeout_s = rank == 0 ? 6 : 2;
    try {
      set_up(whose, timeout_s);
    } catch (const comm::RanksMissing& error) {
      require(error.ranks == std::vector{2}, "somebody else is missing");
      return;
    }
    throw Error("nobody is missing");
  }));
}
