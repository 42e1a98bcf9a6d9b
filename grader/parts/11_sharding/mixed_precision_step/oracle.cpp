#include "grader/parts/11_sharding/mixed_precision_step/oracle.hpp"

#include <cmath>
#include <limits>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::mixed_precision_step {
namespace {

using Holds = StepPlan::Holds;
using zero::StepEnd;

// Numbers as an element of that type holds them.
std::vector<double> rounded(DType dtype, const std::vector<double>& values) {
  return as_doubles(dtype, to_bytes(dtype, values));
}

std::string name_of_rule(MixedRule rule) {
  return rule == MixedRule::adam ? "Adam" : "SGD with momentum";
}

// Larger on each rank, never zero.
double unscaled(const MixedProblem& p, std::uint64_t salt, int rank, std::size_t step,
                std::int64_t element) {
  const auto at = static_cast<std::uint64_t>(element);
  const double u = keyed_uniform(salt + 1009 * (step + 1), at);
  const double sign = keyed_bits(salt + 17, at) % 2 == 0 ? 1 : -1;
  return sign * p.size * (0.5 + u) * (1 + 0.5 * rank);
}

bool is_finite(const std::vector<double>& values) {
  for (const double value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

double squares_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

std::vector<double> range_of(const std::vector<double>& whole, const MixedProblem& p, int rank) {
  const auto begin = whole.begin() + rank * p.range;
  return {begin, begin + p.range};
}

// The rank's part of a run on one device.
class MasterOf {
 public:
  MasterOf(const std::vector<double>& values, const MixedProblem& p) {
    master_.name = "master";
    master_.value = from_values(values, {std::ssize(values)}, DType::float32, device_);
    optimizer_ = make_rule(p.rule, p.rate(), master_);
  }
  void update(const std::vector<double>& gradient) {
    master_.grad = from_values(gradient, {std::ssize(gradient)}, DType::float32, device_);
    optimizer_->step();
  }
  std::vector<double> values() const { return as_doubles(DType::float32, copy_of(master_.value)); }

 private:
  CpuDevice device_;
  Parameter master_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

// The mean gradient of the model as backward scaled it.
std::vector<double> mean_of(const std::vector<std::vector<double>>& of_ranks) {
  std::vector<double> mean(of_ranks.front().size());
  for (std::size_t e = 0; e < mean.size(); ++e) {
    for (const auto& gradient : of_ranks) mean[e] += gradient[e];
    mean[e] /= static_cast<double>(of_ranks.size());
  }
  return mean;
}

// By which each rank multiplies its range of the mean gradient.
double factor_of(const std::vector<double>& mean, const MixedProblem& p, double scale) {
  if (p.max_norm <= 0) return 1 / scale;
  const double norm = std::sqrt(squares_of(mean)) / scale;
  return std::min(1.0, p.max_norm / (norm + 1e-6)) / scale;
}

// A step in 16 bits is off by some 2^-8 of each update, a master by half of its last place.
std::vector<double> tolerance_of(const std::vector<double>& moved,
                                 const std::vector<double>& values) {
  std::vector<double> tolerance;
  for (std::size_t e = 0; e < values.size(); ++e) {
    tolerance.push_back(0.02 * moved[e] + 4e-7 * std::fabs(values[e]));
  }
  return tolerance;
}

}  // namespace

std::string MixedProblem::description() const {
  return text(members.description(), ", ", counted(range, "element"), " each, ",
              lockstep::name_of(dtype), ", ", counted(std::ssize(steps), "step"), " of ",
              name_of_rule(rule), ", scale ", number(scale),
              max_norm != 0 ? text(", max_norm ", number(max_norm)) : "");
}

std::vector<double> first_masters(const MixedProblem& p, std::uint64_t salt) {
  std::vector<double> values;
  for (std::int64_t e = 0; e < p.elements(); ++e) {
    values.push_back(0.75 + keyed_uniform(salt + 3, static_cast<std::uint64_t>(e)));
  }
  return rounded(DType::float32, values);
}

std::vector<double> gradient_of(const MixedProblem& p, std::uint64_t salt, int rank,
                                std::size_t step, double scale) {
  const StepPlan& plan = p.steps.at(step);
  std::vector<double> values;
  for (std::int64_t e = 0; e < p.elements(); ++e) {
    double value = unscaled(p, salt, rank, step, e);
    if (plan.holds == Holds::zeros) value = 0;
    if (plan.holds == Holds::zeros_on_one && rank == plan.rank) value = 0;
    const bool odd = rank == plan.rank && e == plan.element;
    if (odd && plan.holds == Holds::infinity) value = std::numeric_limits<double>::infinity();
    if (odd && plan.holds == Holds::not_a_number) value = std::numeric_limits<double>::quiet_NaN();
    if (odd && plan.holds == Holds::too_large) value = 2;
    if (plan.holds == Holds::large_sum && e == plan.element) value = 40000 / p.scale;
    values.push_back(value * scale);
  }
  return rounded(p.dtype, values);
}

std::vector<RightStep> steps_of(const MixedProblem& p, std::uint64_t salt) {
  const auto ranks = static_cast<std::size_t>(p.ranks());
  const auto first = first_masters(p, salt);
  std::vector<std::unique_ptr<MasterOf>> masters;
  std::vector<std::vector<double>> moved(ranks,
                                         std::vector<double>(static_cast<std::size_t>(p.range)));
  for (int rank = 0; rank < p.ranks(); ++rank) {
    masters.push_back(std::make_unique<MasterOf>(range_of(first, p, rank), p));
  }
  std::vector<RightStep> steps;
  double scale = p.scale;
  std::int64_t good_steps = p.good_steps;
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    RightStep& now = steps.emplace_back();
    now.during = scale;
    std::vector<std::vector<double>> of_ranks;
    for (int rank = 0; rank < p.ranks(); ++rank) {
      of_ranks.push_back(gradient_of(p, salt, rank, step, scale));
    }
    const auto mean = mean_of(of_ranks);
    now.end = is_finite(mean) ? StepEnd::taken : StepEnd::skipped;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto before = masters[rank]->values();
      if (now.end == StepEnd::taken) {
        auto gradient = range_of(mean, p, static_cast<int>(rank));
        const double factor = factor_of(mean, p, scale);
        for (double& value : gradient) value *= factor;
        masters[rank]->update(gradient);
      }
      now.masters.push_back(masters[rank]->values());
      for (std::size_t e = 0; e < before.size(); ++e) {
        moved[rank][e] += std::fabs(now.masters.back()[e] - before[e]);
      }
      now.tolerance.push_back(tolerance_of(moved[rank], now.masters.back()));
    }
    if (now.end == StepEnd::skipped) {
      scale /= 2;
      good_steps = 0;
    } else if (++good_steps == p.interval) {
      scale *= 2;
      good_steps = 0;
    }
    now.scale = scale;
    now.good_steps = good_steps;
  }
  return steps;
}

double first_norm(const MixedProblem& p, std::uint64_t salt) {
  std::vector<std::vector<double>> of_ranks;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    of_ranks.push_back(gradient_of(p, salt, rank, 0, p.scale));
  }
  return std::sqrt(squares_of(mean_of(of_ranks))) / p.scale;
}

MixedCase case_of(const MixedProblem& p, std::uint64_t salt, int rank) {
  const auto masters = first_masters(p, salt);
  MixedCase c;
  c.dtype = p.dtype;
  c.rule = p.rule;
  c.rate = p.rate();
  c.max_norm = p.max_norm;
  c.scale = p.scale;
  c.good_steps = p.good_steps;
  c.interval = p.interval;
  c.steps = std::ssize(p.steps);
  c.parameters = to_bytes(p.dtype, masters);
  c.master = to_bytes(DType::float32, range_of(masters, p, rank));
  return c;
}

const std::vector<double>& BackwardService::scales(int rank, std::size_t step) const {
  static const std::vector<double> none;
  const auto found = scales_.find({rank, step});
  return found == scales_.end() ? none : found->second;
}

std::optional<sim::Service::Answer> BackwardService::answer(const sim::Actor& who,
                                                            MixedBackward call, double now) {
  if (!p_.members.contain(who.rank)) throw Error("this rank has no model");
  if (call.step >= p_.steps.size()) throw Error("there is no such step");
  const int rank = p_.members.group_rank(who.rank);
  auto& told = scales_[{rank, call.step}];
  if (told.size() >= 8) throw Error("backward runs once in a step");
  told.push_back(call.scale);
  const auto values = gradient_of(p_, salt_, rank, call.step, call.scale);
  return answer_with(MixedGradients{to_bytes(p_.dtype, values)}, now);
}

}  // namespace lockstep::grader::mixed_precision_step
