// The exam of unused_parameters: passes in which each rank uses other parameters. The judge draws
// the sets and the gradients, compares what is left after each pass, and sees what the ranks say to
// each other.
#include "grader/parts/07_ddp/unused_parameters/case.hpp"

#include <algorithm>

#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/07_ddp/unused_parameters/cost.hpp"
#include "grader/parts/07_ddp/unused_parameters/oracle.hpp"

namespace lockstep::grader::unused_parameters {
namespace {

using Problem = UnusedProblem;
using Before = Pass::Before;
using Sets = Pass::Sets;
using Reports = std::vector<UnusedReport>;

std::string by_users(const Problem& p, int users) {
  if (users == p.ranks()) return "all ranks used it";
  return text(users, " of ", p.ranks(), " ranks used it");
}

// One parameter of one rank after a pass.
struct Seen {
  std::size_t pass, parameter;
  int rank;
  const GradientReport& report;
};

Failure failure_at(const Problem& p, const Seen& seen, std::string message) {
  return {.message = std::move(message),
          .where = text("rank ", seen.rank, ", parameter ", seen.parameter, in_pass(p, seen.pass))};
}

// Why a parameter that some rank used has other values.
Cause cause_of_values(const Problem& p, const Seen& seen, std::span<const double> values,
                      const std::vector<std::vector<RightGradient>>& right) {
  const RightGradient& here = right[seen.pass][seen.parameter];
  const auto is = [&](std::span<const double> other, double factor) {
    std::vector<double> scaled(other.begin(), other.end());
    for (double& value : scaled) value *= factor;
    return resembles(values, scaled);
  };
  if (const auto at = first_difference(values, here.values, here.tolerance)) {
    if (auto cause = cause_by_finiteness(values, here.values, *at)) return *std::move(cause);
  }
  if (!all_finite(values)) {
    return {"no_number", "this value is not finite: uninitialised memory was read"};
  }
  if (is(here.values, 1)) {
    return {"rounded",
            "only the last digits are wrong: a gradient or a sum was rounded to a smaller type"};
  }
  const auto& before = here.before[static_cast<std::size_t>(seen.rank)];
  if (before && is(*before, 1)) {
    return {"kept_though_used",
            "it is what this rank had before the pass; another rank used the parameter, so all "
            "ranks take the mean"};
  }
  if (here.users < p.ranks() && is(here.values, static_cast<double>(p.ranks()) / here.users)) {
    return {"divided_by_users",
            text("it is the sum divided by ", here.users,
                 ", the ranks that used it; a mean is over all ranks, with zeros from the others")};
  }
  if (seen.pass > 0 && right[seen.pass - 1][seen.parameter].users > 0 &&
      is(right[seen.pass - 1][seen.parameter].values, 1)) {
    return {"stale", "it is what was right after the pass before"};
  }
  return {
      "other_values",
      "a rank that does not use the parameter brings what it had before the pass, and zeros only "
      "where it had none; nothing else is added"};
}

void check_used(CaseRunner& runner, const Played& played, const Problem& p, const Seen& seen,
                const std::vector<std::vector<RightGradient>>& right) {
  const RightGradient& here = right[seen.pass][seen.parameter];
  const std::string lead =
      text("parameter ", seen.parameter, " of rank ", seen.rank, in_pass(p, seen.pass));
  if (!seen.report.defined) {
    Failure failure =
        failure_at(p, seen, text(lead, " has no gradient, although ", by_users(p, here.users)));
    failure.expected = "the sum over the ranks times 1/N";
    failure.seen = "no gradient";
    const bool used = uses(p, seen.pass, seen.rank, seen.parameter);
    runner.fail(played,
                because(used ? Cause{"lost", "the gradient was taken away after the pass"}
                             : Cause{"kept_though_used",
                                     "this rank did not use it and restored what it had; only what "
                                     "no rank used is restored"},
                        failure));
  }
  const auto values = as_doubles(p.dtype, seen.report.grad);
  const auto at = first_difference(values, here.values, here.tolerance);
  if (!at) return;
  Failure failure = failure_at(
      p, seen,
      text("element ", *at, " of the gradient of ", lead, " is ", number_at(values, *at, p.dtype),
           " where the sum over the ranks times 1/N is ", number_at(here.values, *at, p.dtype),
           " (", by_users(p, here.users), ")"));
  failure.expected = number_at(here.values, *at, p.dtype);
  failure.seen = number_at(values, *at, p.dtype);
  runner.fail(played, because(cause_of_values(p, seen, values, right), failure));
}

// Checks that a parameter that no rank used is as it was before the pass.
//   before  the bytes, or nothing
void check_unused(CaseRunner& runner, const Played& played, const Problem& p, const Seen& seen,
                  const std::optional<Bytes>& before, const RightGradient& right) {
  const std::string lead = text("no rank used parameter ", seen.parameter, in_pass(p, seen.pass));
  if (!before) {
    if (!seen.report.defined) return;
    Failure failure = failure_at(
        p, seen, text(lead, ", and it had no gradient before; but it has one on rank ", seen.rank));
    failure.expected = "no gradient";
    failure.seen = "a gradient";
    runner.fail(played, because({"invented",
                                 "the zeros that travelled stay in grad; weight decay and momentum "
                                 "would move the parameter"},
                                failure));
  }
  const std::string name =
      text(lead, ", and the gradient that rank ", seen.rank, " had before must stay as it was");
  if (!seen.report.defined) {
    Failure failure = failure_at(p, seen, text(name, "; but it is gone"));
    failure.expected = "the gradient from before the pass";
    failure.seen = "no gradient";
    runner.fail(played, because({"lost",
                                 "what an unreduced pass left waits in grad until a rank uses the "
                                 "parameter again"},
                                failure));
  }
  if (seen.report.grad == *before) return;
  const auto values = as_doubles(p.dtype, seen.report.grad), kept = as_doubles(p.dtype, *before);
  const auto at = first_other_bits(values, kept).value_or(0);
  std::vector<double> mean(kept.size());
  for (const auto& of_rank : right.before) {
    for (std::size_t e = 0; of_rank && e < mean.size(); ++e) mean[e] += (*of_rank)[e] / p.ranks();
  }
  Failure failure = failure_at(p, seen,
                               text(name, "; but element ", at, " is ", number_at(values, at),
                                    " where it was ", number_at(kept, at)));
  failure.expected = number_at(kept, at);
  failure.seen = number_at(values, at);
  if (resembles(values, kept)) {
    runner.fail(played,
                because({"rounded", "what was kept was rounded to a smaller type"}, failure));
  }
  runner.fail(played,
              because(resembles(values, mean)
                          ? Cause{"reduced_though_unused",
                                  "it was averaged; restore a copy that was made before the pass, "
                                  "for grad itself can lie in the bucket that is reduced"}
                          : Cause{"not_restored",
                                  "restore a copy that was made before the reducer was told of the "
                                  "parameter: the reducer multiplies it by its share"},
                      failure));
}

std::optional<Bytes> bytes_before(const Problem& p, const Seen& seen, const UnusedReport& report,
                                  const RightGradient& right) {
  if (p.passes[seen.pass].before == Before::kept && seen.pass > 0) {
    const GradientReport& last = report.after[seen.pass - 1][seen.parameter];
    if (!last.defined) return std::nullopt;
    return last.grad;
  }
  const auto& before = right.before[static_cast<std::size_t>(seen.rank)];
  if (!before) return std::nullopt;
  return to_bytes(p.dtype, *before);
}

void check_form(CaseRunner& runner, const Played& played, const Problem& p, const Seen& seen,
                const Reports& reports, int users) {
  const GradientReport& report = seen.report;
  if (!report.defined) return;
  const Shape wanted = shape_of_parameter(p.sizes[seen.parameter]);
  const std::vector<std::int64_t> shape(wanted.begin(), wanted.end());
  if (report.dtype != p.dtype || report.shape != shape) {
    runner.fail(played, {.cause = "other_shape",
                         .message = text("the gradient of parameter ", seen.parameter,
                                         " is no longer of its parameter's shape and dtype"),
                         .where = text("rank ", seen.rank)});
  }
  const GradientReport& first = reports.front().after[seen.pass][seen.parameter];
  if (users == 0 || report.grad == first.grad) return;
  runner.fail(played, {.cause = "bits_differ",
                       .message = text("parameter ", seen.parameter, in_pass(p, seen.pass),
                                       ": ranks 0 and ", seen.rank,
                                       " hold means that differ in their last bits; likely cause: "
                                       "a rank changed its mean after the reduction"),
                       .expected = "the same bits on every rank",
                       .seen = "different bits",
                       .where = text("rank ", seen.rank)});
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const Reports& reports) {
  const auto right = right_gradients(p, salt);
  for (const UnusedReport& report : reports) {
    if (report.after.size() != p.passes.size()) throw MalformedMessage("not a report a pass");
    for (const GradientReports& after : report.after) {
      if (after.size() != p.sizes.size()) throw MalformedMessage("not a report a parameter");
    }
  }
  for (std::size_t pass = 0; pass < p.passes.size(); ++pass) {
    for (std::size_t i = 0; i < p.sizes.size(); ++i) {
      const RightGradient& here = right[pass][i];
      for (int rank = 0; rank < p.ranks(); ++rank) {
        const UnusedReport& report = reports[static_cast<std::size_t>(rank)];
        const Seen seen{pass, i, rank, report.after[pass][i]};
        if (here.users > 0) {
          check_used(runner, played, p, seen, right);
        } else {
          check_unused(runner, played, p, seen, bytes_before(p, seen, report, here), here);
        }
        check_form(runner, played, p, seen, reports, here.users);
      }
    }
  }
}

void fewer_passes(const Problem& p, std::vector<Problem>& offered) {
  without_each (&Problem::passes)(p, offered);
  std::erase_if(offered,
                [](const Problem& one) { return one.passes.front().before == Before::kept; });
}

void fewer_parameters(const Problem& p, std::vector<Problem>& offered) {
  if (p.sizes.size() < 2) return;
  Problem& fewer = offered.emplace_back(p);
  fewer.sizes.pop_back();
  for (auto& bucket : fewer.plan.buckets) std::erase(bucket, fewer.sizes.size());
  std::erase_if(fewer.plan.buckets, [](const auto& bucket) { return bucket.empty(); });
}

// A rank's gradients, as those of the other parts that reduce them.
void ask_of(const Problem&, std::uint64_t, int, const UnusedCase& c, Situations& asked) {
  for (const UnusedPassCase& pass : c.passes) {
    Gradients made = c.parameters;
    made.grads = pass.made;
    grader::ask_of(made, asked);
  }
  if (c.passes.size() > 1) asked.insert(Situation::same_call_twice);
}

const RanksContract<Problem, UnusedCase, UnusedReport> contract{
    .case_of = case_of,
    .compare = compare,
    .ask_of = ask_of,
    .smaller = smaller_by(fewer_ranks, fewer_passes, fewer_parameters),
    .explain = explain_found};

const RanksChecks checks(contract, [](Problem& p) {
  p.sizes = {35, 12, 1, 64, 24, 13};
  p.plan = {{{5}, {4, 3}, {2, 1, 0}}};
  p.passes = {{}, {}};
});

const Pass added_to{.before = Before::added}, kept_on{.before = Before::kept};

void any_plan(CaseRunner& runner) {
  const auto ask = [&](const collectives::BucketPlan& plan, DType dtype) {
    checks.ask(runner, 3, [&](Problem& p) {
      p.passes = {{}, {}, added_to};
      p.plan = plan;
      p.dtype = dtype;
    });
  };
  ask({{{5, 4, 3, 2, 1, 0}}}, DType::float64);
  ask({{{0}, {1}, {2}, {3}, {4}, {5}}}, DType::float32);
  ask({{{2, 5}, {0, 4}, {3, 1}}}, DType::bfloat16);
  ask({{{5, 4}, {3, 2, 1, 0}}}, DType::float16);
}

// More parameters than a word has bits.
void many_parameters(Problem& p) {
  p.sizes.assign(70, 3);
  p.plan.buckets.assign(1, {});
  for (std::size_t i = 0; i < p.sizes.size(); ++i) p.plan.buckets.front().push_back(i);
}

void lost_peers(CaseRunner& runner) {
  Problem p = checks.usual(runner, 4, with(&Problem::passes, {{}}));
  p.gap_s = 0;
  judge_lost_peers(runner, contract, p);
  // A collective that the part itself started fails nowhere else. Sums of a bare part are compared
  // with nothing, so no case follows in which nobody dies.
  p.bare = true;
  for (const int at_request : {1, 2, 3, 4}) judge_lost_peer(runner, contract, p, 3, at_request);
}

void cost(CaseRunner& runner) {
  for (const int ranks : {2, 4, 8}) {
    Problem p = checks.usual(runner, ranks,
                             with(&Problem::passes, {{.sets = Sets::all}, {.sets = Sets::all}}));
    p.late_s = 5e-3;  // beside 120e-6 of backward
    checks.ask(runner, p, check_cost);
    p.passes = {{}, added_to, {.sets = Sets::none}};
    p.late_s = 0;
    checks.ask(runner, p, check_cost);
  }
  // One parameter on one rank and on several.
  for (const int ranks : {1, 3}) {
    Problem p = checks.usual(runner, ranks, with(&Problem::passes, {{}, {.sets = Sets::all}}));
    p.sizes = {1};
    p.plan = {{{0}}};
    checks.ask(runner, p, check_cost, {Situation::price_at_the_extremes});
  }
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, what some ranks used is summed and divided by all of them, and "
       "what none used stays without a gradient",
       checks.every_size(with(&Problem::passes, {{}}))},
      {"the sets change from pass to pass",
       checks.on({2, 3, 5}, with(&Problem::passes, {{}, {}, {}, {}, {}}))},
      {"a gradient that waits for its pass stays bit for bit while no rank uses the parameter, and "
       "travels along when one does",
       checks.on({2, 3, 4},
                 with(&Problem::passes, {added_to, kept_on, kept_on, {}, added_to, kept_on}))},
      {"a rank that uses nothing, a pass that uses everything, and one in which no rank uses "
       "anything",
       checks.on({1, 2, 4},
                 with(&Problem::passes, {{.sets = Sets::not_rank_0},
                                         {.sets = Sets::all},
                                         {.sets = Sets::none},
                                         {.sets = Sets::not_rank_0, .before = Before::kept},
                                         {.sets = Sets::none, .before = Before::kept}}))},
      {"any plan of buckets, any type", in_turn(any_plan, checks.on({3}, many_parameters))},
      {"in a subgroup, what counts is who used a parameter in that subgroup",
       checks.in_a_subgroup()},
      {"NaN and infinity on one rank arrive on all; zeros are gradients of what was used",
       checks.odd_values(3, with(&Problem::passes, {{}, added_to, kept_on}))},
      of_cost("one small all-reduce more, which nothing waits for before backward is over", cost),
      of_fault("when a peer is lost, a rank throws CommError", lost_peers),
  };
}

}  // namespace lockstep::grader::unused_parameters
