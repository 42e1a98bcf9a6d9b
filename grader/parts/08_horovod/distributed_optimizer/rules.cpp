#include "grader/parts/08_horovod/distributed_optimizer/rules.hpp"

#include <algorithm>
#include <cstring>

#include "engine/base/random.hpp"
#include "grader/exam/wrong_ending.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_values.hpp"

namespace lockstep::grader::distributed_optimizer {
namespace {

using Reports = std::vector<OptimizerReport>;

std::vector<double> times(std::span<const double> values, double factor) {
  std::vector<double> all(values.begin(), values.end());
  for (double& value : all) value *= factor;
  return all;
}

std::vector<double> plus(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  for (std::size_t e = 0; e < all.size(); ++e) all[e] += b[e];
  return all;
}

std::vector<double> sum_of_ranks(const std::vector<std::vector<double>>& of_ranks) {
  std::vector<double> sum(of_ranks.front().size());
  for (const auto& one : of_ranks) sum = plus(sum, one);
  return sum;
}

std::string step_text(const OptimizerProblem& p, std::size_t step) {
  return p.training.steps.size() > 1 ? text(" in step ", step + 1) : "";
}

// What a wrong gradient tells.
class GuessGradient {
 public:
  GuessGradient(const OptimizerProblem& p, const std::vector<std::vector<StepGradient>>& right,
                std::size_t step, std::size_t parameter)
      : p_(p), right_(right), step_(step), parameter_(parameter) {}

  Cause of(std::span<const double> seen, int rank) const {
    if (!all_finite(seen)) {
      return p_.training.dtype == DType::float16
                 ? Cause{"overflow",
                         "the sum of the ranks' gradients is beyond float16: with a predivide "
                         "factor f, they are multiplied by 1/f before the sum (prescale), and by "
                         "f/N after it (postscale)"}
                 : Cause{"no_number", "memory that nobody has written to was summed"};
    }
    for (const auto& guess : {by_scale(seen), by_rank(seen, rank), by_passes(seen)}) {
      if (guess) return *guess;
    }
    return {"other_gradient", "other gradients were summed than those that the passes made"};
  }

 private:
  const StepGradient& right() const { return right_[step_][parameter_]; }
  int ranks() const { return p_.members.size(); }
  double clip() const {
    return p_.training.steps[step_].ends == TrainingStep::Ends::clipped ? clipped_by : 1;
  }

  std::optional<Cause> by_scale(std::span<const double> seen) const {
    const auto& values = right().values;
    const double n = ranks(), k = p_.training.passes_per_step, f = p_.training.predivide_factor;
    const bool sums = p_.training.combine == horovod::Combine::sum;
    const auto is = [&](double factor) {
      return factor != 1 && resembles(seen, times(values, factor));
    };
    if (f != 1 && (is(f) || is(1 / f))) {
      return Cause{"predivide_factor",
                   "of an average with predivide factor f, prescale is 1/f and postscale f/N"};
    }
    if (!sums && is(n)) {
      return Cause{"summed_not_averaged",
                   "it is the sum over the ranks; of an average, postscale divides by N"};
    }
    if (!sums && is(1 / n)) return Cause{"divided_twice", "it is divided by N twice"};
    if (sums && is(1 / n)) {
      return Cause{"averaged_not_summed", "it is divided by N, but combine is sum"};
    }
    if (is(1 / k) || is(1 / (k * n))) {
      return Cause{"divided_by_passes",
                   "it is divided by the number of passes; Horovod adds the passes up, and leaves "
                   "the mean to the loss"};
    }
    if (clip() != 1 && is(1 / clip())) {
      return Cause{"reduced_again",
                   "it is as it was before the change between synchronize() and step()"};
    }
    return std::nullopt;
  }

  std::optional<Cause> by_rank(std::span<const double> seen, int rank) const {
    const auto& own = right().summed[static_cast<std::size_t>(rank)];
    for (const double factor : {1.0, clip(), clip() * p_.training.weight(ranks())}) {
      if (ranks() == 1 || !resembles(seen, times(own, factor))) continue;
      return Cause{"not_reduced",
                   "it is this rank's own gradient: it was not handed over to the strand, or the "
                   "step did not wait for it"};
    }
    return std::nullopt;
  }

  std::optional<Cause> by_passes(std::span<const double> seen) const {
    const double weight = p_.training.weight(ranks()) * clip();
    const StepGradient& all = right();
    const auto first = times(sum_of_ranks(all.first), weight);
    const auto last = times(sum_of_ranks(all.last), weight);
    if (p_.training.steps[step_].passes > 1) {
      if (resembles(seen, first)) {
        return Cause{"first_pass_only",
                     "only the first pass of the step is in it; hand a gradient over in the hook "
                     "of the last pass"};
      }
      if (resembles(seen, last)) {
        return Cause{"last_pass_only", "only the last pass of the step is in it"};
      }
    }
    if (step_ > 0 && resembles(seen, plus(all.values, right_[step_ - 1][parameter_].values))) {
      return Cause{"earlier_kept",
                   "the gradient of the step before is in it: zero_grad() must reach the wrapped "
                   "optimizer"};
    }
    if (step_ > 0 && resembles(seen, right_[step_ - 1][parameter_].values)) {
      return Cause{"stale",
                   "it is the gradient of the step before: what is counted in a step must be set "
                   "back for the next"};
    }
    return std::nullopt;
  }

  const OptimizerProblem& p_;
  const std::vector<std::vector<StepGradient>>& right_;
  std::size_t step_, parameter_;
};

// The values that the wrapped rule makes of the gradients that a rank has reported.
class Replayed {
 public:
  Replayed(const Training& training, Device& device) : parameters_(training.sizes.size()) {
    std::vector<Parameter*> list;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i].name = text("parameter ", i);
      parameters_[i].value =
          full(shape_of_parameter(training.sizes[i]), 1.0, training.dtype, device);
      list.push_back(&parameters_[i]);
    }
    rule_ = make_rule(training.rule, list);
  }

  Bytes value(std::size_t i) const { return copy_of(parameters_[i].value); }

  void step(const GradientReports& reports) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Parameter& parameter = parameters_[i];
      const Tensor& value = parameter.value;
      parameter.grad = empty(value.shape(), value.dtype(), value.device());
      const auto to = parameter.grad.raw_bytes();
      if (to.size() != reports[i].grad.size()) throw MalformedMessage("a gradient of another size");
      if (!to.empty()) std::memcpy(to.data(), reports[i].grad.data(), to.size());
    }
    rule_->step();
  }

 private:
  std::vector<Parameter> parameters_;
  std::unique_ptr<optim::Optimizer> rule_;
};

void check_values(Bench& bench, const Played& played, const OptimizerProblem& p,
                  const OptimizerReport& report, int rank) {
  CpuDevice device;
  Replayed replayed(p.training, device), twice(p.training, device);
  for (std::size_t s = 0; s < report.after.size(); ++s) {
    std::vector<Bytes> before;
    for (std::size_t i = 0; i < p.training.sizes.size(); ++i) before.push_back(replayed.value(i));
    replayed.step(report.after[s]);
    twice.step(report.after[s]);
    twice.step(report.after[s]);
    for (std::size_t i = 0; i < p.training.sizes.size(); ++i) {
      const Bytes& seen = report.after[s][i].value;
      if (seen == replayed.value(i)) continue;
      Cause cause{"other_update",
                  "step() of the wrapped optimizer is called once, with the reduced gradients, and "
                  "nothing else changes a parameter"};
      if (seen == before[i]) {
        cause = {"no_update", "step() of the wrapped optimizer was not called"};
      } else if (s == 0 && seen == twice.value(i)) {
        cause = {"two_updates", "step() of the wrapped optimizer was called twice"};
      }
      const auto values = as_doubles(p.training.dtype, seen);
      const auto right = as_doubles(p.training.dtype, replayed.value(i));
      const auto at = first_other_bits(values, right).value_or(0);
      bench.fail(
          played,
          because(cause, {.message = text("the gradients are right, but", step_text(p, s), " rank ",
                                          rank, " makes ", number_at(values, at), " of element ",
                                          at, " of parameter ", i,
                                          ", where the wrapped optimizer "
                                          "makes ",
                                          number_at(right, at)),
                          .expected = number_at(right, at),
                          .seen = number_at(values, at),
                          .where = text("rank ", rank, ", parameter ", i, ", element ", at)}));
    }
  }
}

void check_gradients(Bench& bench, const Played& played, const OptimizerProblem& p,
                     std::uint64_t salt, const Reports& reports) {
  const auto right = right_gradients(p.training, salt, p.members.size());
  for (std::size_t s = 0; s < p.training.steps.size(); ++s) {
    std::vector<GradientReports> of_ranks;
    for (const OptimizerReport& report : reports) {
      of_ranks.push_back(report.after[s]);
      if (of_ranks.back().size() != p.training.sizes.size()) {
        throw MalformedMessage("not a report a parameter");
      }
      for (std::size_t i = 0; i < of_ranks.back().size(); ++i) {  // values change: check_values
        const std::vector<double> ones(static_cast<std::size_t>(p.training.sizes[i]), 1.0);
        of_ranks.back()[i].value = to_bytes(p.training.dtype, ones);
      }
    }
    for (std::size_t i = 0; i < p.training.sizes.size(); ++i) {
      ExpectedGradient expected;
      expected.values = right[s][i].values;
      expected.tolerance = right[s][i].tolerance;
      const bool sums = p.training.combine == horovod::Combine::sum;
      expected.name = text(sums ? "the sum over " : "the mean over ", p.members.size(),
                           p.members.size() == 1 ? " rank" : " ranks", step_text(p, s));
      expected.likely_cause = [&, s, i](std::span<const double> seen, int rank) {
        return GuessGradient(p, right, s, i).of(seen, rank);
      };
      check_gradient(bench, played, p.training.plan(), i, of_ranks, expected);
    }
  }
}

std::string tried(Kind kind) {
  switch (kind) {
    case Kind::extra_gradient:
      return "one backward pass more than backward_passes_per_step";
    case Kind::early_zero_grad:
      return "zero_grad() after a backward pass, before its gradients are reduced";
    case Kind::early_skipped_step:
      return "step() under skip_synchronize(), before the gradients are reduced";
    case Kind::second_synchronize:
      return "synchronize() once more, without a backward pass in between";
    default:
      return "step() without skip_synchronize(), after synchronize()";
  }
}

void check_refusals(Bench& bench, const Played& played, const OptimizerProblem& p,
                    const TrainingService& events, const OptimizerReport& report, int rank) {
  std::size_t k = 0;
  for (const auto& note : events.notes(rank)) {
    const Kind kind = note.scripted.event.kind;
    if (kind < Kind::extra_gradient || kind == Kind::done) continue;
    if (k == report.refusals.size()) throw MalformedMessage("not an ending a refusal");
    const Ending& ending = report.refusals[k++];
    if (ending.kind == Ending::Kind::threw_expected) continue;
    Failure failure = wrong_ending(ending, "ContractError", tried(kind));
    if (ending.kind == Ending::Kind::returned) failure.cause = "not_refused";
    failure.where = text("rank ", rank, step_text(p, note.scripted.step));
    bench.fail(played, std::move(failure));
  }
}

void check_hooks(Bench& bench, const Played& played, const OptimizerProblem& p,
                 const TrainingService& events, const OptimizerReport& report, int rank) {
  const auto where = text("rank ", rank);
  if (report.hooks_left != 0) {
    bench.fail(played,
               {.cause = "hooks_left",
                .message = text("on rank ", rank, " the optimizer is gone, and ", report.hooks_left,
                                " hooks of it are left on the "
                                "parameters; the next backward pass would call them"),
                .expected = "0",
                .seen = text(report.hooks_left),
                .where = where});
  }
  std::uint64_t called = 0;
  for (const auto& note : events.notes(rank)) {
    const OptimizerEvent& event = note.scripted.event;
    const bool calls = event.kind == Kind::gradient || event.kind == Kind::extra_gradient;
    if (calls && event.parameter == 0) ++called;
  }
  if (p.training.sizes.empty() || report.heard == called) return;
  bench.fail(played, {.cause = "hook_removed",
                      .message = text("on rank ", rank,
                                      " a hook that is not the optimizer's was "
                                      "called ",
                                      report.heard, " times in ", called,
                                      " passes; add "
                                      "hooks, and leave those that are there"),
                      .expected = text(called),
                      .seen = text(report.heard),
                      .where = where});
}

void compare_results(Bench& bench, const Played& played, const OptimizerProblem& p,
                     std::uint64_t salt, const Reports& reports, const TrainingService& events) {
  events.require_all();
  for (const OptimizerReport& report : reports) {
    if (report.after.size() != p.training.steps.size())
      throw MalformedMessage("not a report a step");
  }
  for (int rank = 0; rank < p.members.size(); ++rank) {
    check_refusals(bench, played, p, events, reports[static_cast<std::size_t>(rank)], rank);
  }
  check_gradients(bench, played, p, salt, reports);
  for (int rank = 0; rank < p.members.size(); ++rank) {
    const OptimizerReport& report = reports[static_cast<std::size_t>(rank)];
    check_values(bench, played, p, report, rank);
    check_hooks(bench, played, p, events, report, rank);
  }
}

OptimizerCase case_of_optimizer(const OptimizerProblem& p, std::uint64_t salt, int rank) {
  const Training& training = p.training;
  OptimizerCase one;
  one.rule = training.rule;
  one.combine = training.combine;
  one.predivide_factor = training.predivide_factor;
  one.passes = training.passes_per_step;
  one.threshold_bytes = training.threshold_bytes;
  one.cycle_s = training.cycle_s;
  one.parameters.dtype = training.dtype;
  one.parameters.sizes = training.sizes;
  one.parameters.has_grad.assign(training.sizes.size(), 0);
  one.parameters.grads.resize(training.sizes.size());
  one.parameters.allocation_seed = random_bits(salt, 77 + static_cast<std::uint64_t>(rank)) >> 32;
  return one;
}

// Fewer ranks, fewer steps, fewer parameters.
std::vector<OptimizerProblem> smaller_trainings(const OptimizerProblem& p) {
  std::vector<OptimizerProblem> offered;
  for (int ranks = 1; ranks < p.members.size(); ++ranks) {
    offered.emplace_back(p).members = whole_world(ranks);
  }
  const std::size_t steps = p.training.steps.size();
  for (std::size_t s = 0; s < steps && steps > 1; ++s) {
    auto& fewer = offered.emplace_back(p).training.steps;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(s));
  }
  if (p.training.sizes.size() > 1) offered.emplace_back(p).training.sizes.pop_back();
  return offered;
}

OptimizerContract contract_with(decltype(OptimizerContract::compare) compare) {
  return {.case_of = case_of_optimizer,
          .compare = std::move(compare),
          .smaller = smaller_trainings,
          .services = [](const OptimizerProblem& p, std::uint64_t salt) {
            return std::tuple(TrainingService(p.training, p.members, salt));
          }};
}

}  // namespace

std::string OptimizerProblem::description() const {
  const std::size_t parameters = training.sizes.size(), steps = training.steps.size();
  return text(members.description(), ", ", parameters,
              parameters == 1 ? " parameter of " : " parameters of ", name_of(training.dtype), ", ",
              steps, steps == 1 ? " step" : " steps",
              training.passes_per_step > 1
                  ? text(" of ", training.passes_per_step, " backward passes")
                  : "");
}

OptimizerContract contract_of_results() { return contract_with(compare_results); }

OptimizerContract contract_of_costs() {
  return contract_with([](Bench& bench, const Played& played, const OptimizerProblem& p,
                          std::uint64_t salt, const Reports& reports,
                          const TrainingService& events) {
    compare_results(bench, played, p, salt, reports, events);
    check_hand_over(bench, played, p, events);
  });
}

}  // namespace lockstep::grader::distributed_optimizer
