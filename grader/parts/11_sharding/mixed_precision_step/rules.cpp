// The rules of mixed_precision_step: masters, parameters, the optimizer's state and the scale after
// each step.
#include "grader/parts/11_sharding/mixed_precision_step/rules.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::mixed_precision_step {
namespace {

using Problem = MixedProblem;
using Reports = std::vector<MixedReport>;
using Holds = StepPlan::Holds;
using zero::StepEnd;

// One rank after one step.
struct At {
  CaseRunner& runner;
  const Played& played;
  const Problem& p;
  std::uint64_t salt;
  std::size_t step;
  int rank;

  std::string name() const { return text("rank ", rank, " of ", p.ranks(), ", step ", step); }
  [[noreturn]] void fail(const Cause& cause, const std::string& what, std::string expected,
                         std::string seen) const {
    runner.fail(played, because(cause, {.message = text(name(), ": ", what),
                                        .expected = std::move(expected),
                                        .seen = std::move(seen),
                                        .where = name()}));
  }
};

const char* name_of(StepEnd end) { return end == StepEnd::taken ? "taken" : "skipped"; }

void check_backward(const At& at, const std::vector<double>& scales, double right) {
  if (scales.size() == 1 && scales.front() == right) return;
  if (scales.size() != 1) {
    at.fail({"backward_runs", "each step runs the backward pass once, skipped or not"},
            text("backward ran ", counted(std::ssize(scales), "time")), "1 run",
            counted(std::ssize(scales), "run"));
  }
  const double told = scales.front();
  const Cause cause =
      told == 1 ? Cause{"not_scaled",
                        "the loss was not scaled, so gradients below 2^-24 are zero in float16"}
                : Cause{"other_scale", "the loss is multiplied by the scale that the state holds"};
  at.fail(cause, text("backward ran with a scale of ", number(told)), number(right), number(told));
}

void check_end(const At& at, const MixedStep& seen, const RightStep& right) {
  if (seen.end == right.end) return;
  if (right.end == StepEnd::skipped && seen.scale == right.scale) {
    at.fail({"end_not_told",
             "the scale fell as in a step that is skipped, so the step was skipped, "
             "and only what was returned says otherwise"},
            "mixed_precision_step returned taken", "skipped", "taken");
  }
  if (right.end == StepEnd::skipped) {
    at.fail({"taken_with_overflow",
             "an element of the mean gradient is not finite on some rank, so no rank may step; is "
             "a NaN counted, too?"},
            "the step was taken", "skipped", "taken");
  }
  if (at.p.steps[at.step].holds == Holds::large_sum) {
    at.fail({"sum_overflows",
             "the ranks' gradients were summed in 16 bits, which do not hold the sum, and divided "
             "by N after that"},
            "the step was skipped, though each element of the mean fits in 16 bits", "taken",
            name_of(seen.end));
  }
  at.fail({"skipped_for_nothing", "all gradients are finite; a large one, or zeros, are no reason"},
          "the step was skipped", "taken", name_of(seen.end));
}

Cause cause_of_masters(const At& at, const std::vector<double>& seen) {
  if (!std::ranges::all_of(seen, [](double value) { return std::isfinite(value); })) {
    return {"not_a_number_kept", "a gradient that is not finite went into a master"};
  }
  const auto first = first_masters(at.p, at.salt);
  const auto own = first.begin() + at.rank * at.p.range;
  if (std::equal(seen.begin(), seen.end(), own)) {
    return {"unmoved", "no master moved: the optimizer did not step"};
  }
  if (at.p.max_norm > 0 && at.p.size < 1e-6) {
    return {"no_epsilon",
            "the norm is as small as 1e-6 here, and the contract adds 1e-6 to the norm before it "
            "divides max_norm by it"};
  }
  return {
      "other_masters",
      "the masters' gradient is range r of the mean, in float32, divided by the scale once, and "
      "nothing of a step before, such as one that was skipped"};
}

void check_masters(const At& at, const MixedStep& step, const RightStep& right) {
  const auto seen = as_doubles(DType::float32, step.master);
  const auto rank = static_cast<std::size_t>(at.rank);
  const auto& expected = right.masters[rank];
  const auto wrong = first_difference(seen, expected, right.tolerance[rank]);
  if (!wrong) return;
  const std::string good = number_at(expected, *wrong, DType::float32);
  const std::string bad = number_at(seen, *wrong, DType::float32);
  at.fail(cause_of_masters(at, seen),
          text("master ", *wrong, " of its range is ", bad, " where ", good, " is right"), good,
          bad);
}

// The bits after a skipped step, beside those before it.
void check_untouched(const At& at, const MixedStep& seen, const MixedStep& before) {
  const auto fail = [&](const char* cause, const char* what) {
    at.fail({cause, "a skipped step leaves masters, state and parameters as they are"},
            text("the step was skipped, and ", what, " changed all the same"), "the bits before it",
            "other bits");
  };
  if (seen.master != before.master) fail("master_moved_on_skip", "a master");
  if (seen.state != before.state) fail("state_moved_on_skip", "the state of the optimizer");
  if (seen.parameters != before.parameters) fail("parameters_moved_on_skip", "a parameter");
}

// All ranks' masters, rounded once.
void check_parameters(const At& at, const Reports& reports, const Bytes& before) {
  std::vector<double> masters;
  for (const MixedReport& report : reports) {
    const auto range = as_doubles(DType::float32, report.after[at.step].master);
    masters.insert(masters.end(), range.begin(), range.end());
  }
  const Bytes right = to_bytes(at.p.dtype, masters);
  const Bytes& seen = reports[static_cast<std::size_t>(at.rank)].after[at.step].parameters;
  if (seen == right) return;
  const auto expected = as_doubles(at.p.dtype, right), got = as_doubles(at.p.dtype, seen);
  const std::size_t wrong = first_other_bits(got, expected).value_or(0);
  const auto own =
      static_cast<std::size_t>(at.rank) == wrong / static_cast<std::size_t>(at.p.range);
  const std::string good = number_at(expected, wrong, at.p.dtype);
  const std::string bad = number_at(got, wrong, at.p.dtype);
  Cause cause{"other_parameters", "each parameter is its master, rounded to 16 bits once"};
  if (seen == before) {
    cause = {"parameters_stale",
             "the masters moved, and the parameters that the next pass reads did not: cast them, "
             "and gather those of all ranks into the same tensor"};
  } else if (!own) {
    cause = {"not_gathered", "the other ranks' masters were not gathered"};
  }
  at.fail(cause, text("parameter ", wrong, " is ", bad, " where its master gives ", good), good,
          bad);
}

void check_scale(const At& at, const MixedStep& seen, const RightStep& right) {
  if (seen.scale == right.scale && seen.good_steps == right.good_steps) return;
  const auto told = [](double scale, std::int64_t good_steps) {
    return text("scale ", number(scale), ", ", counted(good_steps, "good step"));
  };
  Cause cause{"other_rule",
              "a skipped step halves it, `interval` taken ones in a row double it, and good_steps "
              "begins again at 0 with each change"};
  if (right.scale < right.during && seen.scale == right.during) {
    cause = {"not_halved", right.during > 1 ? "a skipped step halves the scale"
                                            : "a skipped step halves the scale, from 1 down, too"};
  } else if (right.scale > right.during && seen.scale == right.during) {
    cause = {"never_grows", "after `interval` good steps in a row, the scale doubles"};
  }
  at.fail(cause, text("after the step, the state has ", told(seen.scale, seen.good_steps)),
          told(right.scale, right.good_steps), told(seen.scale, seen.good_steps));
}

MixedStep before_of(const Problem& p, std::uint64_t salt, const MixedReport& report, int rank,
                    std::size_t step) {
  if (step > 0) return report.after[step - 1];
  const MixedCase c = case_of(p, salt, rank);
  return {.scale = c.scale, .master = c.master, .parameters = c.parameters};
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const Reports& reports, const BackwardService& service) {
  for (const MixedReport& report : reports) {
    if (report.after.size() != p.steps.size()) throw MalformedMessage("not one report for a step");
  }
  const auto right = steps_of(p, salt);
  for (std::size_t step = 0; step < right.size(); ++step) {
    // By what all ranks did first, so that a rank which goes its own way is named.
    for (int rank = 0; rank < p.ranks(); ++rank) {
      const At at{runner, played, p, salt, step, rank};
      check_backward(at, service.scales(rank, step), right[step].during);
      check_end(at, reports[static_cast<std::size_t>(rank)].after[step], right[step]);
    }
    for (int rank = 0; rank < p.ranks(); ++rank) {
      const At at{runner, played, p, salt, step, rank};
      const MixedReport& report = reports[static_cast<std::size_t>(rank)];
      const MixedStep& seen = report.after[step];
      const MixedStep before = before_of(p, salt, report, rank, step);
      if (seen.end == StepEnd::skipped) check_untouched(at, seen, before);
      check_masters(at, seen, right[step]);
      if (seen.end == StepEnd::taken) check_parameters(at, reports, before.parameters);
      check_scale(at, seen, right[step]);
    }
  }
}

// A rank that lost a peer: its masters are those before the step, or those after it, where the
// others agreed and only the parameters did not come.
void unchanged(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
               int rank, const Bytes& kept) {
  const auto report = fields_from_bytes<MixedReport>(kept);
  if (report.after.empty()) throw MalformedMessage("nothing was kept");
  const std::size_t step = report.after.size() - 1;
  const auto seen = as_doubles(DType::float32, report.after[step].master);
  const auto before = as_doubles(DType::float32, before_of(p, salt, report, rank, step).master);
  if (!first_other_bits(seen, before)) return;
  const RightStep right = steps_of(p, salt).at(step);
  const auto at = static_cast<std::size_t>(rank);
  if (!first_difference(seen, right.masters[at], right.tolerance[at])) return;
  At{runner, played, p, salt, step, rank}.fail(
      {"updated_though_it_failed", "a master moves only when all ranks agreed to step"},
      "a peer was lost, and the masters moved by something else than the mean gradient",
      "the masters before the step, or after it", "others");
}

// A rank that skips alone leaves the others in a collective.
void explain(Failure& failure, const Problem& p, const BackwardService&) {
  const bool parted = failure.verdict == Verdict::mismatch || failure.verdict == Verdict::deadlock;
  const bool overflows = std::ranges::any_of(p.steps, [](const StepPlan& plan) {
    return plan.holds != Holds::numbers && plan.holds < Holds::zeros_on_one;
  });
  if (!parted || !overflows) return;
  failure = because_instead({"skipped_alone",
                             "a rank decided by its own gradients alone: the ranks agree first, by "
                             "one maximum, and then all skip or none does"},
                            std::move(failure));
}

void ask_of(const Problem& p, std::uint64_t, int rank, const MixedCase&, Situations& asked) {
  if (p.dtype == DType::bfloat16) asked.insert(Situation::every_dtype);
  for (const StepPlan& plan : p.steps) {
    if (plan.holds == Holds::infinity) asked.insert(Situation::infinity);
    if (plan.holds == Holds::not_a_number) asked.insert(Situation::not_a_number);
    if (plan.holds == Holds::zeros && rank == 0) asked.insert(Situation::zeros);
  }
}

}  // namespace

const MixedContract& contract() {
  static const MixedContract made{
      .case_of = case_of,
      .compare = compare,
      .ask_of = ask_of,
      .unchanged = unchanged,
      .smaller = smaller_by(shorter(&Problem::steps)),
      .services =
          [](CaseRunner&, const Problem& p, std::uint64_t salt) {
            return std::tuple<BackwardService>(BackwardService(p, salt));
          },
      .explain = explain,
  };
  return made;
}

void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  const double half = 2.0 * (p.ranks() - 1) * static_cast<double>(p.range);
  double allowed = 0;
  for (const StepPlan& step : p.steps) allowed += step.holds == Holds::infinity ? half : 2 * half;
  const double sent = busiest_rank_bytes(played.counters);
  // The numbers that ranks agree by.
  if (sent > allowed + 32.0 * static_cast<double>(p.steps.size())) {
    runner.fail(
        played,
        wasteful("too_many_bytes", sent, allowed, "per rank",
                 text("the result is right, but a rank sends ", whole_bytes(sent), " bytes where ",
                      whole_bytes(allowed),
                      " are enough; likely cause: float32 travels where 16 bits do, a whole "
                      "gradient is reduced on every rank, or a skipped step gathers "
                      "parameters that did not change")));
  }
  check_operations(runner, played,
                   {.collectives = 3 * std::ssize(p.steps),
                    .allowed = "a reduce-scatter, an all-gather and two numbers in each step"});
}

}  // namespace lockstep::grader::mixed_precision_step
