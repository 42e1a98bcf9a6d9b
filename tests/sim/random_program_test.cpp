// No false alarm, and no mistake that passes: a thousand programs that are right, and the same with
// one rank's part in one step left out.
#include "tests/sim/random_program.hpp"

#include <iostream>

#include "engine/base/stopwatch.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

constexpr std::uint64_t programs = 1000;

struct Ran {
  std::optional<sim::Finding> finding;
  sim::Counters counters;
};

Ran run(const RandomProgram& program, std::uint64_t seed,
        const std::optional<Omission>& omission = std::nullopt) {
  sim::Options options;
  options.ranks = program.ranks;
  options.seed = seed;
  sim::Core core(options);
  const auto result = sim::run_fibers(
      core, [&](sim::FiberRank& self) { run_random_program(program, self, omission); });
  return {result.finding, core.counters()};
}

}  // namespace

TEST_CASE("random programs: of a thousand right ones none is blamed, whatever the schedule") {
  const Stopwatch watch;
  std::int64_t messages = 0, collectives = 0;
  for (std::uint64_t i = 0; i < programs; ++i) {
    const RandomProgram program = random_program(i);
    INFO("program " << i << " on " << program.ranks << " ranks");
    const Ran ran = run(program, i * 7 + 1), again = run(program, i * 7 + 1);
    if (ran.finding) FAIL(ran.finding->message);
    CHECK(ran.counters.trace_hash == again.counters.trace_hash);
    const Ran other = run(program, i * 7 + 2);
    if (other.finding) FAIL(other.finding->message);
    CHECK(ran.counters.makespan_s == other.counters.makespan_s);
    for (const auto& rank : ran.counters.ranks) {
      messages += rank.messages_sent;
      collectives += rank.collectives;
    }
  }
  std::cout << programs << " random programs with " << messages << " messages and " << collectives
            << " entries into collectives ran three times each in " << watch.seconds() << " s\n";
  CHECK(messages > 4000);
  CHECK(collectives > 5000);
}

TEST_CASE("random programs: with one step left out by one rank, each is blamed") {
  int broken = 0;
  for (std::uint64_t i = 0; i < programs; ++i) {
    const RandomProgram program = random_program(i);
    const auto omission = random_omission(program, i + 1);
    if (!omission) continue;
    ++broken;
    INFO("program " << i << ": rank " << omission->rank << " leaves out step " << omission->step);
    CHECK(run(program, i, omission).finding);
  }
  CHECK(broken > 700);
}
