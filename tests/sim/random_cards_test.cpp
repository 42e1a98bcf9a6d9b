// Random right programs on a cluster whose ranks share network cards.
#include "tests/catch.hpp"
#include "tests/sim/random_program.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

struct Outcome {
  std::vector<double> clocks_s;
  std::uint64_t trace_hash;
  bool operator==(const Outcome&) const = default;
};

Outcome played(const RandomProgram& program, int cards, std::uint64_t seed) {
  sim::Options options;
  options.ranks = program.ranks;
  options.seed = seed;
  options.network = {.latency_s = 1e-6, .gap_s = 1e-6, .bandwidth_bytes_s = 1e9};
  options.network.ranks_per_node = 2;
  options.network.between = {.latency_s = 1e-5, .gap_s = 2e-6, .bandwidth_bytes_s = 1e8};
  options.network.cards_per_node = cards;
  sim::Core core(options);
  const auto result =
      sim::run_fibers(core, [&](sim::FiberRank& self) { run_random_program(program, self); });
  INFO((result.finding ? result.finding->message : ""));
  REQUIRE_FALSE(result.finding);
  Outcome outcome{{}, core.counters().trace_hash};
  for (const auto& rank : core.counters().ranks) outcome.clocks_s.push_back(rank.clock_s);
  return outcome;
}

}  // namespace

TEST_CASE("random programs: on shared cards time is the same whatever order ranks run in") {
  int queued = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const RandomProgram program = random_program(i);
    INFO("program " << i << " on " << program.ranks << " ranks");
    const Outcome shared = played(program, 1, 0);
    for (std::uint64_t seed = 1; seed < 4; ++seed) CHECK(played(program, 1, seed) == shared);
    const Outcome own = played(program, 0, 0);
    for (std::size_t rank = 0; rank < own.clocks_s.size(); ++rank) {
      queued += shared.clocks_s[rank] > own.clocks_s[rank] ? 1 : 0;
    }
  }
  CHECK(queued > 30);  // ranks that waited for a card
}
