// The exam of bucketed_reducer. The judge makes the gradients, in another order on each rank, and
// sees which reduction was started before which gradient was asked for: overlap is an order of
// events here, and no measurement.
#include "grader/parts/07_ddp/bucketed_reducer/case.hpp"

#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/driven/overlap.hpp"
#include "grader/exam/driven/sums.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/07_ddp/bucketed_reducer/found.hpp"
#include "grader/parts/07_ddp/bucketed_reducer/started.hpp"

namespace lockstep::grader::bucketed_reducer {
namespace {

using collectives::BucketPlan;
using Before = DrivenPass::Before;
using Makes = DrivenPass::Makes;
using Order = DrivenPass::Order;

struct Problem {
  Members members;
  DrivenScript script;
  std::vector<BucketPlan> plans;  // of the first reducer, and of each that is made anew
  std::uint64_t schedule_seed = 0;
  bool twin = false;  // each rank has two reducers

  std::string description() const {
    return text(members.description(), ", ", counted(std::ssize(script.sizes), "parameter"), " of ",
                name_of(script.dtype), " in ", counted(std::ssize(plans[0].buckets), "bucket"),
                ", ", counted(std::ssize(script.passes), "pass"), name_of(script.held),
                twin ? ", two reducers" : "");
  }
};

std::vector<AwaitedCollective> awaited_by(const Problem& p) {
  std::vector<AwaitedCollective> all;
  for (const auto& members : p.plans.front().buckets) {
    AwaitedCollective& one = all.emplace_back();
    one.needs = members;
    for (const std::size_t i : members) {
      one.bytes += p.script.sizes[i] * static_cast<std::int64_t>(bytes_of(p.script.dtype));
    }
  }
  return all;
}

void ask_of(const Problem& p, std::uint64_t salt, int rank, const ReducerCase&, Situations& asked) {
  grader::ask_of(p.script, salt, rank, asked);
}

ReducerCase case_of(const Problem& p, std::uint64_t salt, int rank) {
  ReducerCase one{.plans = p.plans, .share = p.script.share_of(p.members.size())};
  one.afterwards = p.script.afterwards;
  one.twin = p.twin;
  if (p.script.end != DrivenScript::End::finished) one.passes = p.script.passes.size();
  one.parameters.dtype = p.script.dtype;
  one.parameters.sizes = p.script.sizes;
  one.parameters.has_grad.assign(p.script.sizes.size(), 0);
  one.parameters.grads.resize(p.script.sizes.size());
  one.parameters.allocation_seed = keyed_bits(salt, 77 + static_cast<std::uint64_t>(rank)) >> 32;
  return one;
}

using Reports = std::vector<ReducerReport>;

std::vector<DrivenReport> driven_of(const Reports& reports) {
  std::vector<DrivenReport> all;
  for (const ReducerReport& report : reports) all.push_back(report.driven);
  return all;
}

void compare_sums(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                  const Reports& reports, const ScriptService& events) {
  const auto driven = driven_of(reports);
  check_sums(runner, played, {p.script, p.members, salt, events, driven}, awaited_by(p));
}

// Compares what the second reducer left behind: its values are half of the first one's.
void compare_twins(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                   const Reports& reports, const ScriptService& events) {
  std::vector<DrivenReport> halved;
  for (const ReducerReport& report : reports) {
    DrivenReport& one = halved.emplace_back(DrivenReport{.after = report.twin, .early = {}});
    for (GradientReports& pass : one.after) {
      for (GradientReport& gradient : pass) {
        auto values = as_doubles(p.script.dtype, gradient.grad);
        for (double& value : values) value /= 2;
        gradient.grad = to_bytes(p.script.dtype, values);
      }
    }
  }
  try {
    compare_sums(runner, played, p, salt, reports, events);
    check_sums(runner, played, {p.script, p.members, salt, events, halved}, awaited_by(p));
  } catch (Failure& found) {
    found.message = "a rank has two reducers, of parameters of their own: " + found.message;
    throw because_instead({"reducers_share",
                           "both use one buffer, one count or one list of Works, such as a static "
                           "variable; all of it belongs to the object"},
                          found);
  }
}

void compare_overlap(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                     const Reports& reports, const ScriptService& events) {
  const auto driven = driven_of(reports);
  const DrivenRun run{p.script, p.members, salt, events, driven};
  const auto awaited = awaited_by(p);
  check_sums(runner, played, run, awaited);
  check_overlap(runner, played, run, awaited);
}

void compare_hooks(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                   const Reports& reports, const ScriptService& events) {
  std::vector<std::vector<StartedBucket>> started;
  for (const ReducerReport& report : reports) started.push_back(report.started);
  const auto driven = driven_of(reports);
  const DrivenRun run{p.script, p.members, salt, events, driven};
  check_started(runner, played, run, p.plans.front(), started);
  check_sums(runner, played, run, awaited_by(p));
  check_elements(runner, played, run, p.plans.front(), started);
}

void compare_ends(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                  const Reports& reports, const ScriptService& events) {
  compare_sums(runner, played, p, salt, reports, events);
  for (int rank = 0; rank < p.members.size(); ++rank) {
    const auto left = reports[static_cast<std::size_t>(rank)].places_left;
    if (left == 0) continue;
    runner.fail(played, {.cause = "places_left",
                         .message = text("on rank ", rank, " the reducer is gone, but ",
                                         counted(left, "parameter"),
                                         left == 1 ? " still has" : " still have",
                                         " its grad_place; backward would go "
                                         "on to make gradients there: take them back in the "
                                         "destructor"),
                         .expected = "0",
                         .seen = text(left),
                         .where = text("rank ", rank)});
  }
}

// finalize refused the unfinished pass, and named a gradient that had not come.
void compare_refusals(CaseRunner& runner, const Played& played, const Problem& p,
                      std::uint64_t salt, const Reports& reports, const ScriptService& events) {
  compare_sums(runner, played, p, salt, reports, events);
  for (int rank = 0; rank < p.members.size(); ++rank) {
    const auto& early = reports[static_cast<std::size_t>(rank)].driven.early;
    if (early.size() != 1) throw MalformedMessage("not one unfinished pass");
    const std::string asked =
        p.script.end == DrivenScript::End::unfinished
            ? "finalize, when all gradients but one are still to come"
            : text("finalize, when only the gradient of parameter ", p.script.missing,
                   p.script.sizes[p.script.missing] == 0 ? ", which has no elements, is" : " is",
                   " still to come");
    if (early.front().kind != Ending::Kind::threw_expected) {
      Failure ended = wrong_ending(early.front(), "ContractError", asked);
      // The same was asked of a first pass.
      const bool later = p.script.end == DrivenScript::End::unfinished && !p.script.passes.empty();
      const Cause cause{ended.cause,
                        later ? "what came in the pass before still counts: set it back at its end"
                              : "finalize does not look whether all gradients came"};
      const bool returned = early.front().kind == Ending::Kind::returned;
      runner.fail(played, returned ? because_instead(cause, std::move(ended)) : ended);
    }
    std::vector<bool> came(p.script.sizes.size());
    for (const auto& note : events.notes(rank)) {
      const auto& [event, takes_s, pass] = note.scripted;
      const bool in_it = pass == p.script.passes.size();
      if (in_it && event.kind == DrivenEvent::Kind::ready) came[event.parameter] = true;
    }
    bool named = false;
    for (std::size_t i = 0; i < came.size(); ++i) {
      named |= !came[i] && early.front().what.find(text("parameter ", i)) != std::string::npos;
    }
    if (!named) {
      runner.fail(played, {.cause = "missing_not_named",
                           .message = text("finalize throws on rank ", rank,
                                           ", but its message names no parameter whose gradient "
                                           "did not come: '",
                                           early.front().what, "'"),
                           .where = text("rank ", rank)});
    }
    require_no_wait(runner, played, rank, reports[static_cast<std::size_t>(rank)].waited);
  }
}

void fewer_passes(const Problem& p, std::vector<Problem>& offered) {
  if (p.plans.size() > 1) return;
  without_each([](auto& one) -> auto& { return one.script.passes; })(p, offered);
  std::erase_if(offered, [](const Problem& one) {
    return !one.script.passes.empty() && one.script.passes.front().before == Before::kept;
  });
}

void fewer_parameters(const Problem& p, std::vector<Problem>& offered) {
  if (p.script.sizes.size() <= 2 || p.plans.size() > 1) return;
  Problem& fewer = offered.emplace_back(p);
  fewer.script.sizes.pop_back();
  auto& buckets = fewer.plans.front().buckets;
  for (auto& bucket : buckets) std::erase(bucket, fewer.script.sizes.size());
  std::erase_if(buckets, [](const auto& bucket) { return bucket.empty(); });
}

const RanksContract<Problem, ReducerCase, ReducerReport, ScriptService> contract{
    .case_of = case_of,
    .compare = compare_sums,
    .ask_of = ask_of,
    .smaller = smaller_by(fewer_ranks, fewer_passes, fewer_parameters),
    .services =
        [](CaseRunner&, const Problem& p, std::uint64_t salt) {
          return std::tuple(service_of(p.script, p.members, salt));
        },
    .explain =
        [](Failure& found, const Problem& p, const ScriptService& events) {
          explain_found(found, p.script, p.members, p.plans, events);
        }};

constexpr double quick_s = 4e-6, slow_s = 80e-6;  // gradients, beside reductions of some 30e-6

BucketPlan usual_plan() { return {{{5, 4}, {3}, {2, 1, 0}}}; }

const RanksChecks checks(contract, [](Problem& p) {
  p.script.sizes = {35, 12, 1, 64, 72, 13};
  p.script.passes = {{}};
  p.plans = {usual_plan()};
});

std::function<void(Problem&)> with(std::vector<DrivenPass> passes) {
  return [passes = std::move(passes)](Problem& p) { p.script.passes = passes; };
}

// Both reducers start their buckets in one order on all ranks only where gradients come in one.
void two_reducers(CaseRunner& runner) {
  for (const int ranks : {2, 3}) {
    Problem p = checks.usual(
        runner, ranks,
        with({{.order = Order::last_first}, {.before = Before::kept, .order = Order::last_first}}));
    p.twin = true;
    checks.compared(compare_twins)
        .ask(runner, p, {}, {Situation::two_objects, Situation::two_in_flight});
  }
}

void unfinished_passes(CaseRunner& runner) {
  const auto refused = checks.compared(compare_refusals);
  Problem p = checks.usual(runner, 2);
  p.script.end = DrivenScript::End::unfinished;
  p.plans = {{{{5, 4}, {3, 2}, {1, 0}}}};
  for (const auto& before : {std::vector<DrivenPass>{}, std::vector<DrivenPass>{{}}}) {
    p.script.passes = before;
    refused.ask(runner, p);
  }
  p.script.end = DrivenScript::End::one_missing;
  p.script.sizes[3] = 0;
  p.script.missing = 3;
  p.plans = {{{{3, 2}, {5, 4}, {1, 0}}}};  // so that no bucket is ever full
  refused.ask(runner, p);
  p.script.missing = 0, p.plans = {{{{5, 4}, {3, 2}, {1, 0}}}};  // two buckets are started
  refused.ask(runner, p);
}

const std::vector<DrivenPass> several_passes{
    {}, {}, {.before = Before::kept}, {.before = Before::added}, {.before = Before::kept}, {}};

void any_plan(CaseRunner& runner) {
  const auto ask = [&](const std::vector<std::int64_t>& sizes, const BucketPlan& plan,
                       DType dtype) {
    checks.ask(runner, 3, [&](Problem& p) {
      p.script.passes = {{}, {}};
      p.script.sizes = sizes;
      p.script.dtype = dtype;
      p.plans = {plan};
    });
  };
  const std::vector<std::int64_t> sizes{35, 7, 1, 64, 16, 13};
  ask(sizes, {{{5, 4, 3, 2, 1, 0}}}, DType::float32);
  ask(sizes, {{{0}, {1}, {2}, {3}, {4}, {5}}}, DType::float64);
  ask(sizes, {{{2, 5}, {0, 4}, {3, 1}}}, DType::bfloat16);
  ask({9, 0, 4, 0}, {{{3}, {2, 1}, {0}}}, DType::float32);
  ask({0, 0}, {{{1}, {0}}}, DType::float32);
  ask({24, 1}, {{{0}, {1}}}, DType::float16);
}

void overlap(CaseRunner& runner) {
  for (const int ranks : {2, 4, 3, 8}) {
    for (const double gap_s : {slow_s, quick_s}) {
      checks.compared(compare_overlap).ask(runner, ranks, [&](Problem& p) {
        p.script.passes = {{.order = Order::last_first}, {}, {.before = Before::kept}};
        p.script.sizes = {400, 130, 50, 1000, 8, 300, 77, 500};
        p.script.gap_s = gap_s;
        p.plans = {{{{7, 6}, {5, 4}, {3}, {2, 1, 0}}}};
      });
    }
  }
}

void hooked(Problem& p) {
  p.script.passes = {{}, {}};
  p.script.share = p.members.size() == 2 ? 1 : 0.3;  // the hook divides, or part of it
  p.script.afterwards = 2;
}

void remade(Problem& p) {
  const auto anew = DrivenPass::Part::is_remade;
  p.script.passes = {{}, {.before = Before::kept, .part = anew}, {}, {.part = anew}};
  p.plans = {usual_plan(), {{{0, 5}, {1, 2, 3, 4}}}, {{{1}, {3, 0}, {2, 4, 5}}}};
}

// In one pass a rank dies at each request, so also between the starts of the last two buckets.
void lost_peers(CaseRunner& runner) {
  const std::vector<std::pair<Problem, int>> dead{{checks.usual(runner, 4), 3},
                                                  {checks.usual(runner, 4, with({{}, {}})), 0}};
  judge_lost_peers(runner, contract, dead, 40, 24);
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks every gradient becomes the mean, with the same bits, in whatever "
       "order the gradients come on each rank",
       checks.every_size()},
      {"six passes with different gradients, some of which add to those of the pass before",
       checks.on({2, 3, 5}, with(several_passes))},
      {"any plan: one bucket, a bucket for each parameter, parameters without elements, any type",
       any_plan},
      {"a gradient that is missing counts as zeros, and one that lies elsewhere is taken along",
       checks.on({3, 2}, with({{.makes = Makes::some_absent},
                               {.before = Before::kept, .makes = Makes::some_absent},
                               {.makes = Makes::some_elsewhere},
                               {.before = Before::kept, .makes = Makes::some_elsewhere},
                               {.before = Before::added, .makes = Makes::some_elsewhere}}))},
      {"NaN and infinity on one rank arrive on all; zeros are gradients, too",
       checks.odd_values(3, with({{}, {.before = Before::kept}, {.makes = Makes::some_absent}}))},
      {"two reducers of one rank have nothing in common", two_reducers},
      of_cost("each bucket's reduction starts in the plan's order, before the next gradient is "
              "asked for, and nothing waits before finalize",
              overlap),
      {"in a subgroup the buckets are reduced over that subgroup",
       checks.in_a_subgroup(with({{}, {}}))},
      {"the hook is given each bucket whole, and gradients are multiplied by the share alone",
       checks.compared(compare_hooks).on({2, 3}, hooked)},
      {"a new reducer takes the grads over, and one that ends leaves no grad_place behind",
       checks.compared(compare_ends).on({2, 3}, remade)},
      {"finalize refuses a pass in which a gradient did not come, and names it", unfinished_passes},
      of_fault("when a peer is lost, a rank throws CommError", lost_peers),
  };
}

}  // namespace lockstep::grader::bucketed_reducer
