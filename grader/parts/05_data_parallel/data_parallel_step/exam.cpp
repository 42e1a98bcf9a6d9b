// The exam of data_parallel_step: ten steps on different data must equal one device that is given
// all samples as one batch, with momentum and with Adam, with and without clipping. The judge
// trains that one device itself.
#include "grader/play/step_case.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/exam/ranks/training_rules.hpp"
#include "grader/exam/ranks/wire_price.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/05_data_parallel/data_parallel_step/oracle.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader::data_parallel_step {
namespace {

using Problem = StepProblem;
using Trained = StepTrained;

Cause likely_cause(const Problem& p) {
  if (p.clip_norm < 0) {
    return {"negative_bound",
            text("clip_norm is ", number(p.clip_norm),
                 "; zero or less means no clipping, but the gradient was scaled")};
  }
  if (p.clip_norm > 0) {
    return {"other_norm",
            text("the steps without clipping are right, so clip_norm ", number(p.clip_norm),
                 " bounds something other than the norm of all averaged gradients together")};
  }
  return {"other_parameters",
          "in this order: zero the gradients; forward; the mean loss of this rank's samples, as it "
          "is; backward; average, which divides by N, once in all; clip; step"};
}

Cause likely_cause_of_loss(const Problem& p, std::uint64_t salt, std::span<const double> seen) {
  const auto is = [&](const std::vector<double>& other) {
    return !first_difference(seen, other, training_tolerance(p.dtype, other));
  };
  const auto all = train(p, salt).losses;
  std::vector<double> sums(steps), means;
  for (const auto& of_rank : all) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += of_rank[k];
  }
  for (const double sum : sums) means.push_back(sum / p.ranks());
  if (p.ranks() > 1 && is(means)) return {"wrong_loss", "this is the mean over all ranks"};
  if (p.ranks() > 1 && is(sums)) return {"wrong_loss", "this is the sum over all ranks"};
  return {"wrong_loss", "a step returns the loss of this rank's samples before the update"};
}

// Checks the parameter that forward does not use, which stands in front of all others.
void check_unused(CaseRunner& runner, const Played& played, int rank,
                  std::vector<double>& parameters, const StepReport& report) {
  constexpr std::ptrdiff_t count = 6;
  const std::string where = text("rank ", rank, ", the parameter that no rank used");
  const auto end = parameters.begin() + std::min(count, std::ssize(parameters));
  if (std::any_of(parameters.begin(), end,
                  [](double value) { return value != WithUnused::unused_value; })) {
    runner.fail(played, {.cause = "unused_moved",
                         .message = text(
                             "the parameter that no rank used moved on rank ", rank,
                             "; it has no gradient, so no step may move it. Was a gradient left "
                             "from before the call still used?"),
                         .where = where});
  }
  parameters.erase(parameters.begin(), end);
  if (!report.first_has_gradient) return;
  runner.fail(played,
              {.cause = "gradient_invented",
               .message = text("the parameter that no rank used has a gradient on rank ", rank,
                               " after the step; leave it without a gradient, or weight "
                               "decay and momentum will move it"),
               .expected = "no gradient",
               .seen = "a gradient",
               .where = where});
}

void check_losses(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                  int rank, std::span<const double> losses, std::span<const double> right) {
  check_numbers(runner, played, losses,
                {.dtype = p.dtype,
                 .values = right,
                 .tolerance = digits_tolerance(p.dtype, p.optimizer, right),
                 .name =
                     [](std::size_t at) {
                       return text("the parameters are right, but the loss that step ", at,
                                   " returned");
                     },
                 .whose = "this rank's mean loss before the update is",
                 .where = text("rank ", rank, ", its losses"),
                 .cause = [&](std::size_t) { return likely_cause_of_loss(p, salt, losses); }});
}

// The bytes of the gradients that forward uses.
std::int64_t gradient_bytes(const Problem& p) {
  return (width * 8 + 8 + 8 * classes + classes) * static_cast<std::int64_t>(bytes_of(p.dtype));
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<StepReport>& reports) {
  const Trained expected = train(p, salt);
  const auto tolerance = digits_tolerance(p.dtype, p.optimizer, expected.parameters);
  std::vector<double> rank_zero;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const StepReport& report = reports[static_cast<std::size_t>(rank)];
    std::vector<double> seen = as_doubles(p.dtype, report.parameters);
    if (p.unused) check_unused(runner, played, rank, seen, report);
    if (rank == 0) rank_zero = seen;
    check_same_bits(runner, played, text("after ", counted(steps, "step")), rank, seen, rank_zero,
                    {"replicas_differ",
                     "the ranks stepped with different gradients, averaged after the step or not "
                     "at all"});
    check_numbers(runner, played, seen,
                  {.dtype = p.dtype,
                   .values = expected.parameters,
                   .tolerance = tolerance,
                   .name =
                       [](std::size_t at) {
                         return text("after ", counted(steps, "step"), ", parameter element ", at);
                       },
                   .whose = text("one device with all ", p.ranks() * p.batch, " samples has"),
                   .where = text("rank ", rank),
                   .cause = [&](std::size_t) { return likely_cause(p); }});
    check_losses(runner, played, p, salt, rank, report.losses,
                 expected.losses[static_cast<std::size_t>(rank)]);
  }
  check_wire_least(runner, played, steps * ring_bytes(gradient_bytes(p), p.ranks()),
                   text(steps, " reductions of the gradients"), samples_travel);
}

// A step that lost a peer leaves the parameters as they were before it, or has made its update: of
// the mean, before something else failed.
void compare_kept(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                  int rank, const Bytes& kept) {
  const auto report = fields_from_bytes<StepReport>(kept);
  const std::int64_t taken = std::min<std::int64_t>(std::ssize(report.losses), steps - 1);
  const auto seen = as_doubles(p.dtype, report.parameters);
  const auto right = train(p, salt, taken).parameters;
  const auto whole = train(p, salt, taken + 1).parameters;
  const auto at = first_difference(seen, right, digits_tolerance(p.dtype, p.optimizer, right));
  if (!at || !first_difference(seen, whole, digits_tolerance(p.dtype, p.optimizer, whole))) return;
  runner.fail(played, updated_though_it_failed(rank, taken, right, seen, *at));
}

const RanksContract<Problem, StepCase, StepReport> contract{
    .case_of = case_of,
    .compare = compare,
    .ask_of = [](const Problem&, std::uint64_t, int, const StepCase& c,
                 Situations& asked) { grader::ask_of(c, asked); },
    .unchanged = compare_kept,
    .smaller = smaller_by(fewer_ranks, down_to(&Problem::batch, 1))};

void check_meetings(CaseRunner& runner, const Played& played) {
  constexpr std::int64_t parameters = 4;
  // One more in each step for a loss that travels along.
  check_operations(runner, played,
                   {.collectives = steps * (parameters + 1),
                    .allowed = text("one all-reduce for each of the ", parameters,
                                    " gradients in each of ", counted(steps, "step"))});
}

void check_traffic(CaseRunner& runner, const Played& played, const Problem& p) {
  const double allowed = static_cast<double>(steps) * ring_bytes(gradient_bytes(p), p.ranks());
  const double sent = busiest_rank_bytes(played.counters);
  // A quarter for a loss or a count that travels along on this very small model.
  if (sent <= allowed * 1.25) return check_meetings(runner, played);
  runner.fail(
      played,
      wasteful("too_many_bytes", sent, allowed, text("per rank in ", counted(steps, "step")),
               text("the result is right, but a rank sends ", number(sent), " bytes in ",
                    counted(steps, "step"), " where one reduction of the gradients per step sends ",
                    number(allowed),
                    "; likely cause: gradients or parameters are sent more than once per step")));
}

const RanksChecks checks(contract);

const auto with_adam = with(&Problem::optimizer, OptimizerKind::adam);

void odd_values(CaseRunner& runner) {
  for (const Odd odd : every_odd) {
    checks.ask(runner, 3, [&](Problem& p) { p.odd = odd; });
    checks.ask(runner, 2, [&](Problem& p) { p.odd = odd, p.clip_norm = 0.1; });
  }
}

}  // namespace

Exam exam() {
  return {
      {"ten steps of SGD with momentum equal those of one device with all the samples",
       in_turn(checks.every_size(), checks.twice_in_a_subgroup())},
      {"ten steps of Adam equal those of one device: its moments see the averaged gradient",
       checks.on({2, 7}, with_adam)},
      {"clipping uses the norm of the averaged gradient",
       in_turn(checks.on({2, 4}, with(&Problem::clip_norm, 0.1)),
               checks.on({3},
                         [](Problem& p) {
                           with_adam(p);
                           p.clip_norm = 0.1;
                         }),
               // A bound that nothing exceeds changes nothing.
               checks.on({3}, with(&Problem::clip_norm, 1e4)),
               checks.on({2}, with(&Problem::clip_norm, -0.1)))},
      {"float32 parameters train the same way", checks.types({DType::float32})},
      {"eight ranks with one sample each train as one device does",
       checks.on({8}, with(&Problem::batch, 1))},
      {"a parameter that no rank used keeps its value and has no gradient",
       checks.on({2},
                 [](Problem& p) {
                   with_adam(p);
                   p.unused = true;
                 })},
      {"NaN and infinity in one rank's samples show in every replica; zeros are samples, too",
       odd_values},
      // Among real processes no rank is killed.
      of_fault("when a peer is lost, a rank throws CommError and takes no step with the remaining "
               "gradients",
               checks.lose_peers(4)),
      of_cost("each step reduces the gradients once",
              // Batches larger than the model.
              checks.price({2, 8, 1}, check_traffic, with(&Problem::batch, 32))),
  };
}

}  // namespace lockstep::grader::data_parallel_step
