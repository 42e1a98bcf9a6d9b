// The exam of fully_sharded. A rank is given its range of each unit and no other. The judge is what
// units compute: in each pass a rank shows it the values of the unit's parameters, so it sees what
// was gathered, and when; and it looks at the rank's memory while the pass runs.
#include <algorithm>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/exam/ranks/wire_price.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/11_sharding/fully_sharded/rules.hpp"

namespace lockstep::grader::fully_sharded {
namespace {

using Contract = RanksContract<Problem, ShardedCase, ShardedReport, UnitService>;

constexpr Sharding every_sharding[] = {Sharding::full_shard, Sharding::shard_grad_op,
                                       Sharding::no_shard};

void ask_of(const Problem& p, std::uint64_t salt, int rank, const ShardedCase&, Situations& asked) {
  std::vector<double> all;
  bool scalar = false, cube = false;
  const GradientPlan plan = p.gradients();
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    const auto made = gradient_of(p, salt, rank, 0, i);
    if (made) all.insert(all.end(), made->begin(), made->end());
    scalar = scalar || shape_of_parameter(plan.sizes[i]).empty();
    cube = cube || shape_of_parameter(plan.sizes[i]).size() == 3;
  }
  ask_of_values(all, asked);
  if (scalar && cube) asked.insert(Situation::shapes);
  if (p.dtype == DType::float64) asked.insert(Situation::double_digits);
  if (p.dtype == DType::float32) asked.insert(Situation::every_dtype);
}

const Contract contract{
    .case_of = case_of,
    .compare = compare,
    .ask_of = ask_of,
    .smaller = smaller_by(fewer_ranks, one_less(&Problem::steps), one_less(&Problem::passes),
                          shorter(&Problem::units)),
    .services = [](CaseRunner& runner, const Problem& p,
                   std::uint64_t salt) { return std::tuple(UnitService(runner, p, salt)); },
    .explain = [](Failure& found, const Problem&, const UnitService&) { tell_wrong_size(found); }};

const RanksChecks checks(contract);

// Bytes of all units, as one collective on shards moves them.
double once(const Problem& p) {
  double bytes = 0;
  for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
    bytes += shard_bytes(p.bytes(zero::flat_shards(p.units[unit], p.ranks()).padded()), p.ranks());
  }
  return bytes * p.steps * p.passes;
}

// The collectives that the judge carried out say what was sent for nothing.
Cause cause_of_bytes(const Played& played, const Problem& p) {
  const auto ran = [&](sim::Collective kind) {
    return std::ranges::count(played.counters.collectives, kind, &sim::CollectiveRecord::kind);
  };
  const std::int64_t passes = std::int64_t{p.steps} * p.passes * std::ssize(p.units);
  const std::int64_t gathers = ran(sim::Collective::all_gather);
  const bool full = p.sharding == Sharding::full_shard, none = p.sharding == Sharding::no_shard;
  if (!none && ran(sim::Collective::all_reduce) > 0) {
    return {"all_reduced",
            "gradients are all-reduced, and a rank needs those of its own range alone: "
            "reduce-scatter them"};
  }
  const std::int64_t most = none ? 0 : full ? 2 * passes : passes;
  if (gathers > most) {
    return {"gathered_again",
            text("units are gathered ", gathers, " times where ", most, " are enough: ",
                 none   ? "with no_shard, `values` is the whole unit"
                 : full ? "a unit that is whole is not gathered again"
                        : "shard_grad_op keeps a unit from its forward to its backward pass")};
  }
  return WirePrice{}.otherwise;
}

// The last unit may be kept from its forward to its backward pass; any other one is gathered for
// both.
void check_sent(CaseRunner& runner, const Played& played, const Problem& p) {
  if (p.sharding != Sharding::full_shard) return;
  const auto last = zero::flat_shards(p.units.back(), p.ranks());
  const double kept = shard_bytes(p.bytes(last.padded()), p.ranks()) * p.steps * p.passes;
  check_wire_least(
      runner, played, 3 * once(p) - kept,
      "two all-gathers and a reduce-scatter of each unit, but one all-gather of the last,",
      {"units_alive",
       "a unit that is not gathered for its backward pass was kept since its forward "
       "pass: free it after forward"});
}

void check_bytes(CaseRunner& runner, const Played& played, const Problem& p) {
  const bool full = p.sharding == Sharding::full_shard;
  const double each = once(p);
  WirePrice price{.enough = (full ? 3 : 2) * each,
                  .of_what = full ? "two all-gathers and a reduce-scatter of each unit"
                                  : "an all-gather and a reduce-scatter of each unit"};
  if (p.sharding == Sharding::no_shard) {
    price.enough = 0;
    for (const auto& sizes : p.units) {
      const auto count = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
      price.enough += p.steps * p.passes * ring_bytes(p.bytes(count), p.ranks());
    }
    price.of_what = "an all-reduce of each unit's gradients";
  }
  price.otherwise = cause_of_bytes(played, p);
  check_wire(runner, played, price);
  check_sent(runner, played, p);
  const std::int64_t passes = std::int64_t{p.steps} * p.passes * std::ssize(p.units);
  check_operations(runner, played,
                   {.collectives = full ? 2 * passes : passes,
                    .allowed = text(full ? "two all-gathers and a reduce-scatter"
                                         : "what its strategy has around a pass",
                                    " for each unit")});
}

void any_units(CaseRunner& runner) {
  const auto ask = [&](int ranks, const std::vector<std::vector<std::int64_t>>& units) {
    for (const Sharding sharding : {Sharding::full_shard, Sharding::shard_grad_op}) {
      checks.ask(runner, ranks, [&](Problem& p) { p.sharding = sharding, p.units = units; });
    }
  };
  ask(4, {{3, 2}, {1}});            // ranges of padding alone
  ask(3, {{100}, {0, 4, 0}, {7}});  // one parameter on three ranks; some without elements
  ask(2, {{24, 1}});                // one unit alone
}

void several_passes(CaseRunner& runner) {
  for (const Sharding sharding : every_sharding) {
    checks.ask(runner, 3, [&](Problem& p) {
      p.sharding = sharding;
      p.passes = 3;
      p.missing = true;
    });
  }
}

void bytes_on_the_wire(CaseRunner& runner) {
  for (const Sharding sharding : every_sharding) {
    checks.price({2, 4, 1}, check_bytes, [=](Problem& p) {
      p.sharding = sharding;
      p.units = {{300, 24}, {72, 1, 20}, {60}, {500, 8}};
    })(runner);
  }
}

// Twelve units of 256 kB, of which one may be whole.
void memory(CaseRunner& runner) {
  for (const Sharding sharding : every_sharding) {
    const auto large = [&](Problem& p) {
      p.sharding = sharding;
      p.units.assign(12, {16'384, 16'000, 384});
      p.measured = true;
      p.steps = 1;
    };
    checks.then(check_memory).ask(runner, 2, large, check_sent);
  }
}

}  // namespace

Exam exam() {
  return {
      {"full_shard on 1 to 8 and 13 ranks: passes see whole units, and ranges have the mean",
       checks.every_size()},
      {"shard_grad_op and no_shard give the same",
       in_turn(checks.on({2, 3, 5}, with(&Problem::sharding, Sharding::shard_grad_op)),
               checks.on({2, 3, 5}, with(&Problem::sharding, Sharding::no_shard)))},
      {"any units: one alone, ranges of padding, parameters without elements", any_units},
      {"several passes of a step add up, and a gradient that is missing counts as zeros",
       several_passes},
      {"in a subgroup, twice; and float32",
       in_turn(checks.twice_in_a_subgroup(), checks.types({DType::float32}))},
      {"NaN and infinity on one rank arrive on all, zeros are gradients, too, and no sum overflows "
       "of which the mean fits",
       in_turn(checks.odd_values(), checks.large_values(),
               checks.large_values(2, with(&Problem::sharding, Sharding::no_shard)))},
      checks.lost_peers(3, 20),
      of_cost("no more units are whole than the strategy needs", memory),
      of_cost("2, 2 and 3 times (N-1)/N of each unit travel, in one collective each",
              bytes_on_the_wire),
  };
}

}  // namespace lockstep::grader::fully_sharded
