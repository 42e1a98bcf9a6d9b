// The exam of fully_sharded. A rank is given its range of each unit and no other. The judge is what
// units compute: in each pass a rank shows it the values of the unit's parameters, so it sees what
// was gathered, and when; and it looks at the rank's memory while the pass runs.
#include <algorithm>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/exam/ranks_exam.hpp"
#include "grader/exam/traffic.hpp"
#include "grader/exam/wire_price.hpp"
#include "grader/exam/wrong_ending.hpp"
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

// Fewer ranks, fewer steps and passes, fewer units.
std::vector<Problem> smaller(const Problem& p) {
  std::vector<Problem> offered;
  for (int ranks = 1; ranks < p.ranks(); ++ranks) {
    offered.emplace_back(p).members = whole_world(ranks);
  }
  if (p.steps > 1) --offered.emplace_back(p).steps;
  if (p.passes > 1) --offered.emplace_back(p).passes;
  if (p.units.size() > 1) offered.emplace_back(p).units.pop_back();
  return offered;
}

Contract contract_of(CaseRunner& runner, decltype(Contract::compare) compared = compare) {
  return {.case_of = case_of,
          .compare = std::move(compared),
          .ask_of = ask_of,
          .smaller = smaller,
          .services =
              [&runner](const Problem& p, std::uint64_t salt) {
                return std::tuple(UnitService(
                    p, salt, [&runner](int rank) { return runner.memory_bytes(rank); },
                    [&runner](int rank) { return runner.take_peak_bytes(rank); }));
              },
          .explain = [](Failure& found, const Problem&,
                        const UnitService&) { tell_wrong_size(found); }};
}

void compare_memory(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                    const Reports& reports, const UnitService& units) {
  compare(runner, played, p, salt, reports, units);
  check_memory(runner, played, p, units);
}

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
  const std::int64_t passes = std::int64_t{p.steps} * p.passes * std::ssize(p.units);
  check_operations(runner, played,
                   {.collectives = full ? 2 * passes : passes,
                    .allowed = text(full ? "two all-gathers and a reduce-scatter"
                                         : "what its strategy has around a pass",
                                    " for each unit")});
}

Problem usual(CaseRunner& runner, int ranks, Sharding sharding = Sharding::full_shard) {
  return {.members = whole_world(ranks), .sharding = sharding, .schedule_seed = runner.draw()};
}

void every_strategy(CaseRunner& runner) {
  for (const Sharding sharding : {Sharding::shard_grad_op, Sharding::no_shard}) {
    for (const int ranks : {2, 3, 5}) {
      judge(runner, contract_of(runner), usual(runner, ranks, sharding));
    }
  }
}

void any_units(CaseRunner& runner) {
  const auto judge_units = [&](int ranks, std::vector<std::vector<std::int64_t>> units) {
    for (const Sharding sharding : {Sharding::full_shard, Sharding::shard_grad_op}) {
      Problem p = usual(runner, ranks, sharding);
      p.units = std::move(units);
      judge(runner, contract_of(runner), p);
      units = p.units;
    }
  };
  judge_units(4, {{3, 2}, {1}});            // ranges of padding alone
  judge_units(3, {{100}, {0, 4, 0}, {7}});  // one parameter on three ranks; some without elements
  judge_units(2, {{24, 1}});                // one unit alone
}

void several_passes(CaseRunner& runner) {
  for (const Sharding sharding : every_sharding) {
    Problem p = usual(runner, 3, sharding);
    p.passes = 3;
    p.missing = true;
    judge(runner, contract_of(runner), p);
  }
}

void odd_values(CaseRunner& runner) {
  for (const Held held : every_held) {
    Problem p = usual(runner, 3);
    p.held = held;
    judge(runner, contract_of(runner), p);
  }
}

void bytes_on_the_wire(CaseRunner& runner) {
  for (const Sharding sharding : every_sharding) {
    for (const int ranks : {2, 4, 1}) {
      Problem p = usual(runner, ranks, sharding);
      p.units = {{300, 24}, {72, 1, 20}, {60}, {500, 8}};
      Situations asked;
      if (ranks == 1) asked = {Situation::price_at_the_extremes};
      judge(runner, contract_of(runner), p, check_bytes, asked);
    }
  }
}

// Eight units of 512 kB, of which one may be whole.
void memory(CaseRunner& runner) {
  for (const Sharding sharding : every_sharding) {
    Problem p = usual(runner, 2, sharding);
    p.dtype = DType::float32;
    p.units.assign(8, {1024, 1000, 24});
    p.filler = 64;
    p.measured = true;
    p.steps = 1;
    judge(runner, contract_of(runner, compare_memory), p);
  }
}

}  // namespace

Exam exam() {
  return {
      {"full_shard on 1 to 8 and 13 ranks: passes see whole units, and ranges have the mean",
       [](CaseRunner& runner) {
         for (const int n : rank_counts) judge(runner, contract_of(runner), usual(runner, n));
       }},
      {"shard_grad_op and no_shard give the same", every_strategy},
      {"any units: one alone, ranges of padding, parameters without elements", any_units},
      {"several passes of a step add up, and a gradient that is missing counts as zeros",
       several_passes},
      {"in a subgroup, twice; and float32",
       [](CaseRunner& runner) {
         Problem p = usual(runner, 8);
         p.members.ranks = {6, 1, 4};
         play_twice(runner, contract_of(runner), p);
         p = usual(runner, 3);
         p.dtype = DType::float32;
         judge(runner, contract_of(runner), p);
       }},
      {"NaN and infinity on one rank arrive on all; zeros are gradients, too", odd_values},
      {"when a peer is lost, a rank throws CommError",
       [](CaseRunner& runner) {
         judge_lost_peers(runner, contract_of(runner), usual(runner, 3), 20);
       },
       {},
       Asks::cost},
      {"no more units are whole than the strategy needs", memory, {}, Asks::cost},
      {"2, 2 and 3 times (N-1)/N of each unit travel, in one collective each",
       bytes_on_the_wire,
       {},
       Asks::cost},
  };
}

}  // namespace lockstep::grader::fully_sharded
