// The exam of gradient_accumulation: steps on micro-batches must equal those of one device that is
// given each step's samples of all ranks as one batch. The judge trains that one device itself, and
// counts how often the gradients travel.
#include "grader/parts/07_ddp/gradient_accumulation/case.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/exam/ranks/training_rules.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_terms.hpp"
#include "grader/parts/07_ddp/gradient_accumulation/oracle.hpp"
#include "grader/parts/07_ddp/gradient_accumulation/passes.hpp"

namespace lockstep::grader::gradient_accumulation {
namespace {

using Problem = AccumulationProblem;

std::vector<double> shares_of_labels(const Problem& p, std::size_t step) {
  const Sizes labels = labels_of(p, step);
  const auto all = std::accumulate(labels.begin(), labels.end(), std::int64_t{0});
  std::vector<double> shares;
  for (const std::int64_t one : labels) {
    shares.push_back(static_cast<double>(one) / static_cast<double>(all));
  }
  return shares;
}

Cause likely_cause(const Problem& p, std::uint64_t salt, std::span<const double> seen,
                   std::span<const double> right) {
  // A step of SGD moves the parameters by the sum of what each micro-batch moves them.
  std::vector<Term> terms;
  const std::vector<double> shares = shares_of_labels(p, p.steps.size() - 1);
  for (std::size_t i = 0; p.steps.back().size() > 1 && i < p.steps.back().size(); ++i) {
    Term& term = terms.emplace_back(
        Term{text("micro-batch ", i, p.steps.size() > 1 ? " of the last step" : ""), 1, {}});
    term.values.assign(right.begin(), right.end());
    const auto without = train(p, salt, i).parameters;
    term.weight = shares[i];
    for (std::size_t e = 0; e < without.size(); ++e) {
      term.values[e] = (term.values[e] - without[e]) / term.weight;
    }
  }
  if (auto cause = cause_of_terms(seen, right, terms)) return *std::move(cause);
  return {
      "other_parameters",
      "each micro-batch counts once, by its share of the step's labels, and nothing from before "
      "the step does: the gradients are zeroed before its first pass"};
}

// Enough to recognise a mistake.
bool close_to(double seen, double other) {
  return std::fabs(seen - other) <= 1e-4 * std::fabs(other);
}

Cause cause_of_loss(const std::vector<double>& of_batches, const Sizes& labels, double seen) {
  const auto total = static_cast<double>(std::accumulate(labels.begin(), labels.end(), 0));
  const double sum = std::accumulate(of_batches.begin(), of_batches.end(), 0.0);
  const double last = of_batches.back();
  if (std::isnan(seen)) {
    return {"no_loss",
            "no loss was reported for this step; call model.report before each backward, since "
            "the loss travels with the gradients"};
  }
  if (close_to(seen, sum)) {
    return {"loss_not_weighted", "the losses of the micro-batches are added up, not their shares"};
  }
  if (close_to(seen, last) || close_to(seen, last * static_cast<double>(labels.back()) / total)) {
    return {"last_loss_only", "this is the last micro-batch's; report each one's share"};
  }
  return {"wrong_loss",
          "report each micro-batch's loss once, multiplied by its share of the labels, before its "
          "backward"};
}

void check_losses(CaseRunner& runner, const Played& played, const Problem& p, int rank,
                  std::span<const double> seen, const Trained& right) {
  std::vector<double> expected;
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    const Sizes labels = labels_of(p, step);
    const auto total = static_cast<double>(std::accumulate(labels.begin(), labels.end(), 0));
    double mean = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      mean += right.losses[step][i] * static_cast<double>(labels[i]) / total;
    }
    expected.push_back(mean);
  }
  const auto at =
      first_difference(seen, expected, digits_tolerance(p.dtype, p.optimizer, expected));
  if (!at) return;
  if (*at >= seen.size() || *at >= expected.size()) throw MalformedMessage("not a loss a step");
  const std::string wanted = number(expected[*at], p.dtype);
  const std::string shown = std::isnan(seen[*at]) ? "not reported" : number(seen[*at], p.dtype);
  const auto odd = cause_by_finiteness(seen, expected, *at);
  const auto digits = odd ? odd : digits_only(seen, expected);
  runner.fail(
      played,
      because(digits ? *digits : cause_of_loss(right.losses[*at], labels_of(p, *at), seen[*at]),
              {.message = text("the parameters are right, but the loss of step ", *at, " is ",
                               shown, " where the mean over all labels is ", wanted),
               .expected = wanted,
               .seen = shown,
               .where = text("rank ", rank, ", step ", *at)}));
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<AccumulationReport>& reports) {
  const Trained right = train(p, salt);
  const std::string when = text("after ", counted(std::ssize(p.steps), "step"));
  const auto parameters_of = [&](int rank) {
    return as_doubles(p.dtype, reports[static_cast<std::size_t>(rank)].parameters);
  };
  const auto rank_zero = parameters_of(0);
  for (int rank = 1; rank < p.ranks(); ++rank) {
    check_same_bits(runner, played, when, rank, parameters_of(rank), rank_zero,
                    {"added_after_the_reduction",
                     "gradients were added after the pass that is reduced, so each rank has its "
                     "own sum; the last micro-batch of the step is the one outside no_sync"});
  }
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const AccumulationReport& report = reports[static_cast<std::size_t>(rank)];
    const std::vector<double> seen = parameters_of(rank);
    check_numbers(
        runner, played, seen,
        {.dtype = p.dtype,
         .values = right.parameters,
         .tolerance = digits_tolerance(p.dtype, p.optimizer, right.parameters),
         .name = [&](std::size_t at) { return text(when, ", parameter element ", at); },
         .whose = "one device that gets each step's samples of all ranks as one batch has",
         .where = text("rank ", rank),
         .cause = [&](std::size_t) { return likely_cause(p, salt, seen, right.parameters); }});
    check_passes(runner, played, p, rank, report);
    check_losses(runner, played, p, rank, report.losses, right);
  }
}

// Bytes that all-reduces took in, per rank.
std::int64_t reduced_bytes(const Played& played) {
  std::int64_t bytes = 0;
  for (const sim::CollectiveRecord& record : played.counters.collectives) {
    if (record.kind == sim::Collective::all_reduce) bytes += record.bytes;
  }
  return bytes;
}

void check_traffic(CaseRunner& runner, const Played& played, const Problem& p) {
  if (p.ranks() == 1) return;  // nothing travels, so a failing case keeps two ranks
  const auto steps = static_cast<std::int64_t>(p.steps.size());
  const std::int64_t once = steps * elements * static_cast<std::int64_t>(bytes_of(p.dtype));
  const std::int64_t seen = reduced_bytes(played);
  // Half of it on top: what a step says of its loss and of lacking gradients is 16 bytes beside
  // 736, and making the replicas equal takes some at the start.
  if (2 * seen <= 3 * once) return;
  const std::string steps_text = text(steps, steps == 1 ? " step" : " steps");
  const auto times = static_cast<std::int64_t>(
      std::llround(static_cast<double>(seen) / static_cast<double>(once)));
  runner.fail(
      played,
      because({"reduced_every_time",
               "each forward pass outside no_sync ends in a reduction; what counts is where "
               "forward is called, so all of them but the step's last one belong inside"},
              wasteful("reduced_every_time",
                       2.0 * (p.ranks() - 1) / p.ranks() * static_cast<double>(seen),
                       ring_bytes(once, p.ranks()), text("per rank in ", steps_text),
                       text("the result is right, but gradients of ", grouped(seen),
                            " bytes are reduced in ", steps_text,
                            " where one reduction per step "
                            "takes ",
                            grouped(once), ": ", times, " times as much"))));
}

void fewer_micro_batches(const Problem& p, std::vector<Problem>& offered) {
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    if (p.steps[i].size() > 1) offered.emplace_back(p).steps[i].pop_back();
  }
}

// A step that lost a peer leaves the parameters as they were before it.
void compare_kept(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                  int rank, const Bytes& kept) {
  const auto report = fields_from_bytes<StepReport>(kept);
  Problem before = p;
  before.steps.resize(std::min(report.losses.size(), p.steps.size()));
  const auto seen = as_doubles(p.dtype, report.parameters);
  const auto right = train(before, salt).parameters;
  const auto at = first_difference(seen, right, digits_tolerance(p.dtype, p.optimizer, right));
  if (!at) return;
  const auto taken = static_cast<std::int64_t>(before.steps.size());
  runner.fail(played, updated_though_it_failed(rank, taken, right, seen, *at));
}

void ask_of(const Problem&, std::uint64_t, int, const AccumulationCase& c, Situations& asked) {
  ask_of_values(c.inputs, asked);
  if (c.dtype == DType::float32) asked.insert(Situation::every_dtype);
  if (c.dtype == DType::float64) asked.insert(Situation::double_digits);
  if (!c.lengths.empty()) asked.insert(Situation::shapes);  // inputs [B, T, width]
}

const RanksContract<Problem, AccumulationCase, AccumulationReport> contract{
    .case_of = case_of,
    .compare = compare,
    .ask_of = ask_of,
    .unchanged = compare_kept,
    .smaller = smaller_by(fewer_ranks, without_each(&Problem::steps), fewer_micro_batches)};

const std::vector<Sizes> equal_steps{{3, 3, 3, 3}, {3, 3, 3, 3}, {3, 3, 3, 3}, {3, 3, 3, 3}};
const std::vector<Sizes> short_tail{{2, 2, 2, 2}, {2, 2, 2, 2}, {2, 2}, {2, 2, 2, 2}, {2}};
const std::vector<Sizes> unequal{{4, 1, 3}, {1, 5, 2}, {2, 2, 1}, {1, 1, 6}};

const RanksChecks checks(contract, with(&Problem::steps, unequal));

void extreme_steps(CaseRunner& runner) {
  checks.ask(runner, 2, with(&Problem::steps, {{1, 1, 1, 1, 1, 1, 1, 1}, {1}}), check_traffic,
             {Situation::price_at_the_extremes});
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, steps of four micro-batches equal those of one device",
       checks.every_size(with(&Problem::steps, equal_steps))},
      {"a last group of fewer micro-batches is divided by its own number",
       checks.on({2, 5}, with(&Problem::steps, short_tail))},
      {"micro-batches of different sizes count by their labels",
       in_turn(checks.on({3}), checks.on({4}, with(&Problem::lengths, {1, 2, 5})))},
      {"Adam, whose moments see the sum of a step only, and float32",
       in_turn(checks.on({2}, with(&Problem::optimizer, OptimizerKind::adam)),
               checks.types({DType::float32}, 3, with(&Problem::steps, short_tail)))},
      {"a step of one micro-batch is a step of DDP",
       checks.on({4}, with(&Problem::steps, {{3}, {3}, {1}, {5}}))},
      {"in a subgroup the gradients are reduced over that subgroup", checks.twice_in_a_subgroup()},
      {"NaN and infinity in one rank's samples show in every replica; zeros are samples, too",
       checks.odd_values()},
      of_cost("gradients travel once per step, however many micro-batches it has",
              in_turn(checks.on({2, 3, 8}, with(&Problem::steps, equal_steps), check_traffic),
                      extreme_steps)),
      of_fault("when a peer is lost, a rank throws CommError and makes no update",
               checks.lose_peers(3, 18, with(&Problem::steps, {{2, 1}, {1, 1}}))),
  };
}

}  // namespace lockstep::grader::gradient_accumulation
