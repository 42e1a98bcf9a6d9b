// Which mistake a wrong gradient resembles.
#include "grader/parts/08_horovod/distributed_optimizer/guess.hpp"

#include <algorithm>

#include "grader/judge/compare.hpp"

namespace lockstep::grader::distributed_optimizer {
namespace {

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

// Guesses the cause of a wrong gradient.
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
    if (resembles(seen, times(sum_of_ranks(right().summed), weight()))) {
      return {
          "rounded",
          "only the last digits are wrong: a gradient or a factor was rounded to a smaller type"};
    }
    for (const auto& guess :
         {by_start(seen), by_name(seen), by_scale(seen), by_rank(seen, rank), by_passes(seen)}) {
      if (guess) return *guess;
    }
    if (std::ranges::all_of(seen, [](double value) { return value == 0; })) {
      return {"zeros_handed_over",
              "zeros were handed over, though the parameter has a grad: zeros are for one that has "
              "none"};
    }
    return {"other_gradient", "other gradients were summed than those that the passes made"};
  }

 private:
  const StepGradient& right() const { return right_[step_][parameter_]; }
  int ranks() const { return p_.members.size(); }
  double clip() const { return p_.training.steps[step_].is_clipped() ? clipped_by : 1; }

  double weight() const { return p_.training.weight(ranks()) * clip(); }

  // The grads that were there before the passes.
  std::optional<Cause> by_start(std::span<const double> seen) const {
    const TrainingStep& step = p_.training.steps[step_];
    if (step.begins != TrainingStep::Begins::synchronized) return std::nullopt;
    auto without = right().summed;
    for (int rank = 0; rank < ranks(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      if (!makes_gradient(step, parameter_, rank)) without[r] = times(without[r], 0);
    }
    if (without == right().summed || !resembles(seen, times(sum_of_ranks(without), weight()))) {
      return std::nullopt;
    }
    return Cause{"old_grad_lost",
                 "a parameter without a pass is handed over with the grad that it has, and as "
                 "zeros only if it has none"};
  }

  // Odd ranks list the parameters in reverse, and took the gradient at the same place.
  std::optional<Cause> by_name(std::span<const double> seen) const {
    if (p_.training.lists == Training::Lists::alike) return std::nullopt;
    const auto& opposite = right_[step_][p_.training.sizes.size() - 1 - parameter_].summed;
    for (const std::size_t parity : {0U, 1U}) {
      auto mixed = right().summed;
      for (std::size_t r = parity; r < mixed.size(); r += 2) mixed[r] = opposite[r];
      if (mixed.front().size() != mixed.back().size()) return std::nullopt;
      if (mixed == right().summed || !resembles(seen, times(sum_of_ranks(mixed), weight()))) {
        continue;
      }
      return Cause{"other_names",
                   "gradients of different parameters were summed: ranks agree on gradients by "
                   "name, and may list their parameters in different orders; submit each one "
                   "under the name of its parameter"};
    }
    return std::nullopt;
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
    const StepGradient& all = right();
    const auto first = times(sum_of_ranks(all.first), weight());
    const auto last = times(sum_of_ranks(all.last), weight());
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

}  // namespace

Cause cause_of_gradient(const OptimizerProblem& p,
                        const std::vector<std::vector<StepGradient>>& right, std::size_t step,
                        std::size_t parameter, std::span<const double> seen, int rank) {
  return GuessGradient(p, right, step, parameter).of(seen, rank);
}

}  // namespace lockstep::grader::distributed_optimizer
