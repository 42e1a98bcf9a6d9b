// The references of lessons 03 and 06 under a hundred schedules, and in every world.
#include "tests/comm/reference_parts.hpp"

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/sim/hosts/process_host.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::test;

namespace {

struct Ran {
  std::vector<std::string> bits;  // by rank
  std::uint64_t trace_hash = 0;
  double makespan_s = 0;
};

sim::Options world_of(int ranks, std::uint64_t seed) {
  sim::Options options;
  options.ranks = ranks;
  options.seed = seed;
  return options;
}

Ran on_fibers(int ranks, std::uint64_t seed) {
  sim::Core core(world_of(ranks, seed));
  Ran ran{std::vector<std::string>(static_cast<std::size_t>(ranks))};
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    const auto group = make_sim_group(self.port, self.rank, self.ranks);
    ran.bits[static_cast<std::size_t>(self.rank)] = std::to_string(bits_of_parts(*group));
  });
  if (result.finding) FAIL(result.finding->message);
  ran.trace_hash = core.counters().trace_hash;
  ran.makespan_s = core.counters().makespan_s;
  return ran;
}

std::vector<std::string> on_process_host(int ranks) {
  sim::PlayerLimits limits;
  limits.memory_bytes = std::int64_t{LOCKSTEP_PLAYER_MEMORY_MIB} << 20;
  limits.cpu_s = limits.idle_s = 60;
  sim::ProcessHost host({LOCKSTEP_REFERENCE_PLAYER}, ranks, limits);
  sim::Core core(world_of(ranks, 3));
  const auto result = host.run(core, std::vector<Bytes>(static_cast<std::size_t>(ranks)));
  if (result.finding) FAIL(result.finding->message);
  std::vector<std::string> bits;
  for (const Bytes& one : result.results) {
    bits.push_back(std::to_string(ByteReader(one).get<std::uint64_t>()));
  }
  return bits;
}

// Nobody goes before all have what was sent to them: a connection that closes fails what its peer
// has not waited for yet.
void leave_together(Store& store, int rank, int ranks) {
  const auto key = [](int of) { return text("ended/", of); };
  store.set(key(rank), "");
  std::vector<std::string> all;
  for (int of = 0; of < ranks; ++of) all.push_back(key(of));
  store.wait(all, 60);
}

std::vector<std::string> on_processes(int ranks, Transport transport) {
  std::vector<std::string> bits;
  for (const auto& outcome : run_processes(ranks, [&](Store&store, int rank) {
         GlooOptions options;
         options.timeout_s = 60;
         options.transport = transport;
         const auto group = make_gloo_group(store, rank, ranks, options);
         const std::uint64_t hash = bits_of_parts(*group);
         leave_together(store, rank, ranks);
         return std::to_string(hash);
       })) {
    if (!outcome.ok) FAIL(outcome.message);
    bits.push_back(outcome.message);
  }
  return bits;
}

}  // namespace

TEST_CASE("references: a hundred schedules give the same bits in the same virtual time") {
  const int ranks = GENERATE(2, 3, 5, 8);
  const Ran first = on_fibers(ranks, 0);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    INFO(ranks << " ranks, seed " << seed);
    const Ran ran = on_fibers(ranks, seed), again = on_fibers(ranks, seed);
    CHECK(ran.bits == first.bits);
    CHECK(ran.makespan_s == first.makespan_s);
    CHECK(ran.trace_hash == again.trace_hash);
  }
}

TEST_CASE("references: fibers, player processes, shared memory and Gloo give the same bits") {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    INFO(ranks << " ranks");
    const auto bits = on_fibers(ranks, 7).bits;
    CHECK(on_process_host(ranks) == bits);
    CHECK(on_processes(ranks, Transport::shm) == bits);
    if (test::also_over_tcp(ranks)) CHECK(on_processes(ranks, Transport::gloo) == bits);
  }
}
