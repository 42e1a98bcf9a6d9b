// The exam of join_uneven_inputs: the ranks that still have batches must move as one device that is
// given their samples, divided as the case says, and in the end all replicas must be the one that
// trained longest. The judge trains that one device itself.
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/exam/ranks/training_rules.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/07_ddp/join_uneven_inputs/case.hpp"
#include "grader/parts/07_ddp/join_uneven_inputs/cost.hpp"
#include "grader/parts/07_ddp/join_uneven_inputs/oracle.hpp"

namespace lockstep::grader::join_uneven_inputs {
namespace {

using Problem = JoinProblem;
using ddp::JoinDivide;

bool equals(const Problem& p, std::span<const double> seen, std::span<const double> other) {
  return !first_difference(seen, other, training_tolerance(p.dtype, other));
}

std::string in_epoch(const Problem& p, std::size_t epoch) {
  return p.epochs.size() > 1 ? text(" of epoch ", epoch + 1) : "";
}

struct StepAddress {
  std::size_t epoch;
  std::int64_t step;
  int rank;
};

// Why the parameters of a live rank are wrong after a step.
Cause cause_of_step(const Problem& p, const StepAddress& at, std::span<const double> seen,
                    const Path& right) {
  if (equals(p, seen, right[at.epoch][static_cast<std::size_t>(at.step)])) {
    return {"no_update",
            "it was a step without an update; a rank with batches trains in each step, also when "
            "others have run out"};
  }
  return {"other_parameters",
          "a rank is missing from the sum, or the divisor of another step was used"};
}

void check_steps(CaseRunner& runner, const Played& played, const Problem& p,
                 const std::vector<JoinReport>& reports, const Path& right) {
  for (std::size_t epoch = 0; epoch < p.epochs.size(); ++epoch) {
    for (int rank = 0; rank < p.ranks(); ++rank) {
      const JoinedEpoch& mine = reports[static_cast<std::size_t>(rank)].epochs[epoch];
      for (std::int64_t step = 0; step < std::ssize(mine.after); ++step) {
        const auto seen = as_doubles(p.dtype, mine.after[static_cast<std::size_t>(step)]);
        const auto& wanted = right[epoch][static_cast<std::size_t>(step) + 1];
        check_numbers(runner, played, seen,
                      {.dtype = p.dtype,
                       .values = wanted,
                       .tolerance = digits_tolerance(p.dtype, OptimizerKind::momentum, wanted),
                       .name =
                           [&](std::size_t at) {
                             return text("after step ", step, in_epoch(p, epoch), ", in which ",
                                         p.live(epoch, step), " of ", counted(p.ranks(), "rank"),
                                         " had batches, parameter element ", at);
                           },
                       .whose = "one device that gets their samples has",
                       .where = text("rank ", rank),
                       .cause =
                           [&](std::size_t) {
                             return cause_of_step(p, {epoch, step, rank}, seen, right);
                           }});
      }
    }
  }
}

// Calls until one returned 0, each of which told how many ranks had a batch.
void check_counts(CaseRunner& runner, const Played& played, const Problem& p,
                  const std::vector<JoinReport>& reports) {
  for (std::size_t epoch = 0; epoch < p.epochs.size(); ++epoch) {
    for (int rank = 0; rank < p.ranks(); ++rank) {
      const JoinedEpoch& mine = reports[static_cast<std::size_t>(rank)].epochs[epoch];
      for (std::int64_t step = 0; step <= p.most(epoch); ++step) {
        const std::int64_t live = p.live(epoch, step);
        const bool called = step < std::ssize(mine.live);
        const std::int64_t seen = called ? mine.live[static_cast<std::size_t>(step)] : -1;
        if (seen == live) continue;
        const std::string shown = called ? text(seen) : "nothing, as an earlier call returned 0";
        runner.fail(played,
                    because({"live_count",
                             "each call tells all ranks how many of them had a batch in this step, "
                             "and 0 when no rank has any"},
                            {.message = text("the parameters are right, but in step ", step,
                                             in_epoch(p, epoch), " step_with_join returned ", shown,
                                             " on rank ", rank, " where ", counted(live, "rank"),
                                             " had batches"),
                             .expected = text(live),
                             .seen = shown,
                             .where = text("rank ", rank, ", step ", step)}));
      }
    }
  }
}

Cause cause_of_end(const Problem& p, std::size_t epoch, int rank, std::span<const double> seen,
                   const Path& right) {
  const Steps& steps = p.epochs[epoch];
  const auto is_after = [&](std::int64_t step) {
    return equals(p, seen, right[epoch][static_cast<std::size_t>(step)]);
  };
  if (is_after(steps[static_cast<std::size_t>(rank)])) {
    return {"own_replica", text("it is what rank ", rank, " had when it ran out, after ",
                                counted(steps[static_cast<std::size_t>(rank)], "step"),
                                "; end_join replaces it by the parameters of the last to join")};
  }
  for (std::size_t other = 0; other < steps.size(); ++other) {
    if (!is_after(steps[other])) continue;
    return {"stale_source",
            text("these are the parameters of rank ", other, ", which ran out after ", steps[other],
                 " of ", counted(p.most(epoch), "step"), "; the last to join has the newest ones")};
  }
  return {"other_replica", "these are parameters that no rank had after a step"};
}

void check_end(CaseRunner& runner, const Played& played, const Problem& p,
               const std::vector<JoinReport>& reports, const Path& right) {
  for (std::size_t epoch = 0; epoch < p.epochs.size(); ++epoch) {
    const auto last = static_cast<std::size_t>(p.last(epoch));
    const auto& wanted = right[epoch].back();
    const auto of_last = as_doubles(p.dtype, reports[last].epochs[epoch].parameters);
    for (int rank = 0; rank < p.ranks(); ++rank) {
      const JoinedEpoch& mine = reports[static_cast<std::size_t>(rank)].epochs[epoch];
      const auto seen = as_doubles(p.dtype, mine.parameters);
      const std::string when = "after end_join" + in_epoch(p, epoch);
      check_numbers(
          runner, played, seen,
          {.dtype = p.dtype,
           .values = wanted,
           .tolerance = digits_tolerance(p.dtype, OptimizerKind::momentum, wanted),
           .name = [&](std::size_t at) { return text(when, ", parameter element ", at); },
           .whose = text("rank ", last, ", which was last to join, has"),
           .where = text("rank ", rank),
           .cause = [&](std::size_t) { return cause_of_end(p, epoch, rank, seen, right); }});
      if (const auto at = first_other_bits(seen, of_last)) {
        runner.fail(played,
                    because({"almost_equal",
                             "the replicas agree up to rounding only; a broadcast makes them "
                             "equal bit for bit"},
                            {.message = text(when, ", the replicas of rank ", last, " and rank ",
                                             rank, " differ at element ", *at),
                             .expected = number_at(of_last, *at),
                             .seen = number_at(seen, *at, p.dtype),
                             .where = text("rank ", rank)}));
      }
      const double buffer = reports[last].epochs[epoch].buffer;
      if (p.has_buffer != 0 && mine.buffer != buffer) {
        runner.fail(
            played,
            because({"buffers_left",
                     "end_join gives away parameters and buffers; "
                     "replicas::broadcast_parameters brings both"},
                    {.message = text("after end_join", in_epoch(p, epoch),
                                     ", the parameters are equal, but the buffer of rank ", rank,
                                     " is ", number(mine.buffer), " where rank ", last,
                                     ", which was last to join, has ", number(buffer)),
                     .expected = number(buffer),
                     .seen = number(mine.buffer),
                     .where = text("rank ", rank)}));
      }
      if (mine.last == p.last(epoch)) continue;
      const char* whom = p.most(epoch) == 0 ? "no rank had a batch; among all ranks of the group"
                                            : "among the ranks that had a batch in the last step";
      runner.fail(played,
                  because({"wrong_last", text(whom, ", it is the largest")},
                          {.message = text("the parameters are right, but end_join",
                                           in_epoch(p, epoch), " returned ", mine.last, " on rank ",
                                           rank, " where rank ", last, " was last to join"),
                           .expected = text(last),
                           .seen = text(mine.last),
                           .where = text("rank ", rank)}));
    }
  }
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<JoinReport>& reports) {
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const auto& epochs = reports[static_cast<std::size_t>(rank)].epochs;
    if (epochs.size() != p.epochs.size()) throw MalformedMessage("not a report of each epoch");
    for (std::size_t e = 0; e < epochs.size(); ++e) {
      const std::int64_t wanted = p.epochs[e][static_cast<std::size_t>(rank)];
      // A call that returned 0 too early ended the epoch for this rank.
      const bool cut = !epochs[e].live.empty() && epochs[e].live.back() == 0;
      const auto steps = std::ssize(epochs[e].after);
      if (steps > wanted || (steps < wanted && !cut)) {
        throw MalformedMessage("not the parameters after each step");
      }
    }
  }
  const Path right = train(p, salt);
  check_steps(runner, played, p, reports, right);
  check_counts(runner, played, p, reports);
  check_end(runner, played, p, reports, right);
}

void fewer_steps(const Problem& p, std::vector<Problem>& offered) {
  for (std::size_t e = 0; e < p.epochs.size(); ++e) {
    Problem shorter = p;
    for (std::int64_t& has : shorter.epochs[e]) has = std::max<std::int64_t>(has - 1, 0);
    if (shorter.epochs != p.epochs) offered.push_back(shorter);
  }
}

// Each epoch has the steps of as many ranks as there are.
std::vector<Problem> smaller(const Problem& p) {
  auto offered = smaller_by(fewer_ranks, without_each(&Problem::epochs), fewer_steps)(p);
  for (Problem& fewer : offered) {
    for (Steps& steps : fewer.epochs) steps.resize(static_cast<std::size_t>(fewer.ranks()));
  }
  return offered;
}

// A step that lost a peer leaves the parameters as they were before it, or has made its update: of
// all gradients, before something else failed. A rank without batches may do as it likes.
void compare_kept(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                  int rank, const Bytes& kept) {
  const auto before = fields_from_bytes<JoinedBefore>(kept);
  const std::size_t epoch = before.report.epochs.size() - 1;
  if (epoch >= p.epochs.size()) throw MalformedMessage("no such epoch");
  const std::int64_t taken = std::ssize(before.report.epochs.back().after);
  if (taken >= p.epochs[epoch][static_cast<std::size_t>(rank)]) return;
  const auto path = train(p, salt)[epoch];
  const auto seen = as_doubles(p.dtype, before.parameters);
  const auto& right = path[static_cast<std::size_t>(taken)];
  const auto at = first_difference(seen, right, training_tolerance(p.dtype, right));
  if (!at || equals(p, seen, path[static_cast<std::size_t>(taken) + 1])) return;
  runner.fail(played, updated_though_it_failed(rank, taken, right, seen, *at));
}

void ask_of(const Problem&, std::uint64_t, int, const JoinCase& c, Situations& asked) {
  ask_of_values(c.inputs, asked);
  if (c.dtype == DType::float32) asked.insert(Situation::every_dtype);
  if (c.dtype == DType::float64) asked.insert(Situation::double_digits);
  if (c.steps.size() > 1) asked.insert(Situation::same_call_twice);
}

const RanksContract<Problem, JoinCase, JoinReport> contract{.case_of = case_of,
                                                            .compare = compare,
                                                            .ask_of = ask_of,
                                                            .unchanged = compare_kept,
                                                            .smaller = smaller,
                                                            .explain = explain_found};

// Rank r has r + 2 batches: the last rank trains alone at the end.
Steps rising(int ranks) {
  Steps steps;
  for (int r = 0; r < ranks; ++r) steps.push_back(r + 2);
  return steps;
}

// Between 1 and 5, not sorted: 4, 2, 5, 3, 1, 4, …
Steps mixed(int ranks) {
  Steps steps;
  for (int r = 0; r < ranks; ++r) steps.push_back((3 * r + 3) % 5 + 1);
  return steps;
}

const RanksChecks checks(contract, [](Problem& p) {
  p.epochs = {p.ranks() <= 4 ? rising(p.ranks()) : mixed(p.ranks())};
});

std::function<void(Problem&)> with(const std::vector<Steps>& epochs,
                                   JoinDivide divide = JoinDivide::initial) {
  return [=](Problem& p) { p.epochs = epochs, p.divide = divide; };
}
void divided_by_live(Problem& p) { p.divide = JoinDivide::live; }

// Steps times ranks do not fit in 8 bits.
void many_steps(Problem& p) {
  p.epochs = {mixed(13)};
  for (std::int64_t& has : p.epochs.front()) has *= 4;
}

void whoever_is_first(CaseRunner& runner) {
  for (const Steps& steps : {Steps{1, 3, 3}, Steps{3, 3, 1}, Steps{1, 1, 3, 1}, Steps{2, 2},
                             Steps{0, 2, 1}, Steps{2, 0}, Steps{0, 0}}) {
    checks.ask(runner, static_cast<int>(steps.size()), with({steps}, JoinDivide::live));
  }
}

Question three_epochs(JoinDivide divide) {
  return checks.on({3}, with({{1, 3, 2}, {3, 1, 2}, {2, 2, 2}}, divide));
}

void with_buffer(CaseRunner& runner) {
  for (const Steps& steps : {Steps{2, 3, 1}, Steps{2, 2}}) {
    checks.ask(runner, static_cast<int>(steps.size()),
               [&](Problem& p) { p.epochs = {steps}, p.has_buffer = 1; });
  }
}

void subgroup_of_two(CaseRunner& runner) {
  checks.ask(runner, 2, [](Problem& p) {
    p.members = {5, {3, 0}};
    p.epochs = {{1, 2}};
  });
}

void cost(CaseRunner& runner) {
  for (const Steps& steps : {Steps{2, 4}, Steps{3, 1, 2}}) {
    checks.ask(runner, static_cast<int>(steps.size()), with({steps}), check_traffic);
  }
  checks.ask(runner, 4, with({{1, 4, 3, 4}}, JoinDivide::live), check_traffic);
  for (const Steps& one_live : {Steps{3}, Steps{0, 2, 0}}) {
    checks.ask(runner, static_cast<int>(one_live.size()), with({one_live}, JoinDivide::live),
               check_traffic, {Situation::price_at_the_extremes});
  }
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, those that have run out bring zeros, and all of the group divide",
       in_turn(checks.every_size(), checks.on({13}, many_steps))},
      {"the live ranks divide where JoinDivide::live asks for it",
       checks.on({2, 4, 3, 7}, divided_by_live)},
      {"whoever runs out first: rank 0, the last rank, several at once, nobody, a rank without "
       "any, all without",
       whoever_is_first},
      {"an epoch begins anew: another rank runs out first in the second one",
       in_turn(three_epochs(JoinDivide::initial), three_epochs(JoinDivide::live))},
      {"steps of two micro-batches, float32, and a model with a buffer",
       in_turn(checks.on({3},
                         [](Problem& p) {
                           p.epochs = {{2, 1, 3}};
                           p.micro_batches = 2;
                         }),
               checks.types({DType::float32}, 2, with({{3, 1}}, JoinDivide::live)), with_buffer)},
      {"in a subgroup, its own ranks count, divide and are last",
       in_turn(checks.in_a_subgroup(with({{2, 3, 1}}, JoinDivide::live)), subgroup_of_two)},
      {"NaN and infinity in one rank's samples show in every replica; zeros are samples, too",
       checks.odd_values(3, with({{1, 2, 3}}))},
      of_cost("a step is one count and one reduction, and the parameters travel once", cost),
      of_fault("when a peer is lost, a rank throws CommError, also one that has run out",
               checks.lose_peers(3, 27, with({{0, 2, 1}}))),
  };
}

}  // namespace lockstep::grader::join_uneven_inputs
