#include "grader/parts/08_horovod/distributed_optimizer/rules.hpp"

#include <algorithm>
#include <cstring>

#include "engine/base/units.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/judge/wrong_values.hpp"

namespace lockstep::grader::distributed_optimizer {
namespace {

using Reports = std::vector<OptimizerReport>;

std::string step_text(const OptimizerProblem& p, std::size_t step) {
  return p.training.steps.size() > 1 ? text(" in step ", step + 1) : "";
}

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

void check_values(CaseRunner& runner, const Played& played, const OptimizerProblem& p,
                  const OptimizerReport& report, int rank) {
  CpuDevice device;
  Replayed replayed(p.training, device);
  for (std::size_t s = 0; s < report.after.size(); ++s) {
    std::vector<Bytes> before;
    for (std::size_t i = 0; i < p.training.sizes.size(); ++i) before.push_back(replayed.value(i));
    replayed.step(report.after[s]);
    for (std::size_t i = 0; i < p.training.sizes.size(); ++i) {
      const Bytes& seen = report.after[s][i].value;
      if (seen == replayed.value(i)) continue;
      const Cause cause =
          seen == before[i]
              ? Cause{"no_update", "step() of the wrapped optimizer was not called"}
              : Cause{"other_update",
                      "step() of the wrapped optimizer is called once, with the reduced gradients, "
                      "and nothing else changes a parameter"};
      const auto values = as_doubles(p.training.dtype, seen);
      const auto right = as_doubles(p.training.dtype, replayed.value(i));
      const auto other = first_other_bits(values, right);
      if (!other) continue;
      const std::size_t at = *other;
      runner.fail(
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

Cause cause_of_gradient(const OptimizerProblem& p, const StepGradient& right,
                        std::span<const double> seen, int rank) {
  if (!all_finite(seen)) {
    return p.training.dtype == DType::float16
               ? Cause{"overflow",
                       "the sum of the ranks' gradients is beyond float16: with a predivide factor "
                       "f, they are multiplied by 1/f before the sum (prescale), and by f/N after "
                       "it (postscale)"}
               : Cause{"no_number", "memory that nobody has written to was summed"};
  }
  if (p.members.size() > 1 && resembles(seen, right.summed[static_cast<std::size_t>(rank)])) {
    return {"not_reduced",
            "it is this rank's own gradient: it was not handed over to the strand, or the step did "
            "not wait for it"};
  }
  if (resembles(seen, right.values)) {
    return {"rounded",
            "only the last digits are wrong: a gradient or a factor was rounded to a smaller type"};
  }
  if (auto terms = cause_of_terms(seen, right.values, right.terms, 1e-4)) return *std::move(terms);
  return {"other_gradient", "other gradients were summed than those that the passes made"};
}

void check_gradients(CaseRunner& runner, const Played& played, const OptimizerProblem& p,
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
        return cause_of_gradient(p, right[s][i], seen, rank);
      };
      check_gradient(runner, played, p.training.plan(), i, of_ranks, expected);
    }
  }
}

// Two numbers have one sum, so with a predivide factor two ranks must have these bits.
void check_factor_before_sum(CaseRunner& runner, const Played& played, const OptimizerProblem& p,
                             std::uint64_t salt, const Reports& reports) {
  const Training& training = p.training;
  if (p.members.size() != 2 || training.predivide_factor == 1) return;
  const auto right = right_gradients(training, salt, 2);
  CpuDevice device;
  for (std::size_t i = 0; i < training.sizes.size(); ++i) {
    const auto scaled = [&](std::size_t rank) {
      const Tensor one = empty(shape_of_parameter(training.sizes[i]), training.dtype, device);
      const Bytes own = to_bytes(training.dtype, right[0][i].summed[rank]);
      if (!own.empty()) std::memcpy(one.raw_bytes().data(), own.data(), own.size());
      one.scale_(1 / training.predivide_factor);
      return one;
    };
    const Tensor sum = scaled(0);
    sum.reduce_(scaled(1), ReduceOp::sum);
    sum.scale_(training.predivide_factor / 2);
    const auto expected = as_doubles(training.dtype, copy_of(sum));
    const auto seen = as_doubles(training.dtype, reports[0].after[0][i].grad);
    const auto at = first_other_bits(seen, expected);
    if (!at) continue;
    runner.fail(played,
                because({"factor_after_the_sum",
                         "each rank's gradient is multiplied by 1/f before the sum (prescale), and "
                         "the sum by f/N (postscale)"},
                        {.message = text("the last bits of element ", *at, " of parameter ", i,
                                         " are not those of the factors 1/f and f/N, with f = ",
                                         training.predivide_factor),
                         .expected = number_at(expected, *at),
                         .seen = number_at(seen, *at),
                         .where = text("parameter ", i, ", element ", *at)}));
  }
}

std::string tried(const TrainingEvent& event, const OptimizerProblem& p) {
  const int passes = p.training.steps[event.step].passes;
  switch (event.event.kind) {
    case Kind::extra_gradient:
      return "one backward pass more than backward_passes_per_step";
    case Kind::early_zero_grad:
      return text("`zero_grad()` after pass ", std::min(event.pass + 1, passes), " of ", passes);
    case Kind::early_skipped_step:
      return "step() under skip_synchronize(), before the gradients are reduced";
    case Kind::second_synchronize:
      return "synchronize() once more, without a backward pass in between";
    default:
      return "step() without skip_synchronize(), after synchronize()";
  }
}

void check_refusals(CaseRunner& runner, const Played& played, const OptimizerProblem& p,
                    const TrainingService& events, const OptimizerReport& report, int rank) {
  std::size_t k = 0;
  for (const auto& note : events.notes(rank)) {
    const Kind kind = note.scripted.event.kind;
    if (kind < Kind::extra_gradient || kind == Kind::done) continue;
    if (k == report.refusals.size()) throw MalformedMessage("not an ending a refusal");
    const Ending& ending = report.refusals[k++];
    if (ending.kind == Ending::Kind::threw_expected) continue;
    Failure failure = wrong_ending(ending, "ContractError", tried(note.scripted, p));
    if (ending.kind == Ending::Kind::returned) {
      failure.cause = "not_refused";
      failure.message =
          text(tried(note.scripted, p), " returned normally; it must throw ContractError");
    }
    failure.where = text("rank ", rank, step_text(p, note.scripted.step));
    runner.fail(played, std::move(failure));
  }
}

void check_hooks(CaseRunner& runner, const Played& played, const OptimizerProblem& p,
                 const TrainingService& events, const OptimizerReport& report, int rank) {
  const auto where = text("rank ", rank);
  if (report.hooks_left != 0) {
    runner.fail(played,
                {.cause = "hooks_left",
                 .message = text("on rank ", rank, " the optimizer is gone, and ",
                                 counted(report.hooks_left, "hook"),
                                 report.hooks_left == 1 ? " of it is left" : " of it are left",
                                 " on the "
                                 "parameters; the next backward pass would call them"),
                 .expected = "0",
                 .seen = text(report.hooks_left),
                 .where = where});
  }
  std::uint64_t called = 0;
  for (const auto& note : events.notes(rank)) {
    const OptimizerEvent& event = note.scripted.event;
    const bool calls = event.kind == Kind::gradient || event.kind == Kind::extra_gradient;
    if (calls) ++called;
  }
  if (p.training.sizes.empty() || report.heard == called) return;
  runner.fail(played, {.cause = "hook_removed",
                       .message = text("on rank ", rank,
                                       " hooks that are not the optimizer's were "
                                       "called ",
                                       counted(report.heard, "time"), " where ",
                                       counted(called, "gradient"), " came",
                                       "; add "
                                       "hooks, and leave those that are there"),
                       .expected = text(called),
                       .seen = text(report.heard),
                       .where = where});
}

void compare_results(CaseRunner& runner, const Played& played, const OptimizerProblem& p,
                     std::uint64_t salt, const Reports& reports, const TrainingService& events) {
  events.require_all();
  for (const OptimizerReport& report : reports) {
    if (report.after.size() != p.training.steps.size())
      throw MalformedMessage("not a report a step");
  }
  for (int rank = 0; rank < p.members.size(); ++rank) {
    check_refusals(runner, played, p, events, reports[static_cast<std::size_t>(rank)], rank);
  }
  check_gradients(runner, played, p, salt, reports);
  check_factor_before_sum(runner, played, p, salt, reports);
  for (int rank = 0; rank < p.members.size(); ++rank) {
    const OptimizerReport& report = reports[static_cast<std::size_t>(rank)];
    check_values(runner, played, p, report, rank);
    check_hooks(runner, played, p, events, report, rank);
  }
}

OptimizerCase case_of_optimizer(const OptimizerProblem& p, std::uint64_t salt, int rank) {
  const Training& training = p.training;
  OptimizerCase one;
  one.rule = training.rule;
  const bool reversed = training.lists != Training::Lists::alike && rank % 2 == 1;
  one.listed = reversed ? Listed::reversed : Listed::in_order;
  one.combine = training.combine;
  one.predivide_factor = training.predivide_factor;
  one.passes = training.passes_per_step;
  one.threshold_bytes = training.threshold_bytes;
  one.cycle_s = training.cycle_s;
  one.parameters.dtype = training.dtype;
  one.parameters.sizes = training.sizes;
  one.parameters.has_grad.assign(training.sizes.size(), 0);
  one.parameters.grads.resize(training.sizes.size());
  one.parameters.allocation_seed = keyed_bits(salt, 77 + static_cast<std::uint64_t>(rank)) >> 32;
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
    if (s + 1 < steps && p.training.steps[s + 1].begins == TrainingStep::Begins::as_left) continue;
    auto& fewer = offered.emplace_back(p).training.steps;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(s));
  }
  if (p.training.sizes.size() > 1) offered.emplace_back(p).training.sizes.pop_back();
  return offered;
}

// True if the part itself refused: its own check says where it is.
bool is_refusal(const Failure& found) {
  const std::size_t check = found.message.rfind(" [");
  return found.verdict == Verdict::crash && check != std::string::npos &&
         found.message.find("distributed_optimizer.cpp:", check) != std::string::npos &&
         found.message.find("thrown from", check) == std::string::npos;
}

// The reason why a refused step that follows another without a backward pass is no misuse.
const char* why_no_misuse(Kind before, Kind last) {
  if (last == Kind::skipped_step) {
    return "; here a step() under skip_synchronize() follows another step() without a new backward "
           "pass, which is allowed: nothing is in flight, and it updates with the gradients as "
           "they are";
  }
  if (before == Kind::skipped_step) {
    return "; here a step() follows one under skip_synchronize(), which is no misuse: that one "
           "sets synchronized_ to false, too, and this one reduces the same gradients once more";
  }
  return "; here a step() follows another without a backward pass, which is no misuse: it reduces "
         "the same gradients once more";
}

// Says of a call that the part refused why it is no misuse.
void explain(Failure& found, const OptimizerProblem& p, const TrainingService& events) {
  if (!is_refusal(found) || found.ranks.size() != 1) return;
  if (!p.members.contain(found.ranks.front())) return;
  const auto& notes = events.notes(p.members.group_rank(found.ranks.front()));
  Kind before = Kind::zero_grad;  // the last call of these two
  bool passed = false;            // since then
  for (std::size_t k = 0; k + 1 < notes.size(); ++k) {
    const Kind kind = notes[k].scripted.event.kind;
    if (kind == Kind::gradient) passed = true;
    if (kind != Kind::synchronize && kind != Kind::step && kind != Kind::skipped_step) continue;
    before = kind;
    passed = false;
  }
  const Kind last = notes.empty() ? Kind::done : notes.back().scripted.event.kind;
  const bool is_step = last == Kind::step || last == Kind::skipped_step;
  if (before == Kind::synchronize && passed && (is_step || last == Kind::synchronize)) {
    found.message +=
        "; here a backward pass came after the last synchronize(), so this is no misuse: its hook "
        "sets synchronized_ to false, and its gradients are reduced in turn";
    if (p.training.passes_per_step > 1) {
      found.message += ". The hook of every pass does, not only of number backward_passes_per_step";
    }
  }
  const bool follows_a_step = before == Kind::step || before == Kind::skipped_step;
  if (follows_a_step && !passed && is_step) found.message += why_no_misuse(before, last);
}

}  // namespace

std::string OptimizerProblem::description() const {
  const std::size_t parameters = training.sizes.size(), steps = training.steps.size();
  return text(members.description(), ", ", parameters,
              parameters == 1 ? " parameter of " : " parameters of ", name_of(training.dtype), ", ",
              steps, steps == 1 ? " step" : " steps",
              training.passes_per_step > 1
                  ? text(" of ", training.passes_per_step, " backward passes")
                  : "",
              name_of(training.held));
}

OptimizerContract contract_of_results() {
  return {
      .case_of = case_of_optimizer,
      .compare = compare_results,
      .ask_of = [](const OptimizerProblem& p, std::uint64_t salt, int rank, const OptimizerCase&,
                   Situations& asked) { p.training.ask_of(salt, rank, asked); },
      .smaller = smaller_trainings,
      .services =
          [](CaseRunner&, const OptimizerProblem& p, std::uint64_t salt) {
            return std::tuple(TrainingService(p.training, p.members, salt));
          },
      .explain = explain};
}

}  // namespace lockstep::grader::distributed_optimizer
