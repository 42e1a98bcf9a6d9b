#include "grader/parts/09_asynchronous/parameter_server/oracle.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "grader/exam/odd_values.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_terms.hpp"

namespace lockstep::grader::parameter_server {
namespace {

// A server that makes updates by a rule.
class Replayed {
 public:
  Replayed(const LoopsCase& c, const UpdateRule& rule)
      : case_(c),
        rule_(rule),
        pushed_(static_cast<std::size_t>(c.workers)),
        left_(static_cast<std::size_t>(c.workers)),
        velocity_(c.parameters.size()) {
    versions.push_back(c.parameters);
  }

  void take(const Taken& taken) {
    const auto worker = static_cast<std::size_t>(taken.worker);
    if (taken.kind == Kind::pull) return;
    if (taken.kind == Kind::push) {
      if (!rule_.first_rate || rate_ == 0) rate_ = taken.rate;
      if (rule_.when == When::at_once) return update(scaled(taken.gradient, factor(1)));
      pushed_[worker] = taken.gradient;
      last_ = worker;
    } else {
      left_[worker] = true;
      if (taken.kind == Kind::lost && !rule_.keeps_lost_push) pushed_[worker].reset();
      if (!rule_.keeps_left_push) pushed_[worker].reset();
      if (!rule_.leaving_ends) return;
    }
    close_round();
  }

  std::vector<Values> versions;

 private:
  double factor(double pushes) const {
    const auto active = static_cast<double>(std::ranges::count(left_, false));
    switch (rule_.factor) {
      case Factor::one:
        return 1;
      case Factor::over_workers:
        return 1.0 / case_.workers;
      case Factor::over_active:
        return 1 / std::max(active, 1.0);
      case Factor::over_pushes:
        break;
    }
    return 1 / pushes;
  }
  static Values scaled(Values values, double by) {
    for (double& value : values) value *= by;
    return values;
  }

  void close_round() {
    double pushes = 0;
    for (std::size_t w = 0; w < pushed_.size(); ++w) {
      if (!pushed_[w] && !left_[w]) return;
      pushes += pushed_[w] ? 1 : 0;
    }
    if (pushes == 0) return;
    Values mean(velocity_.size());
    std::vector<std::size_t> used;
    for (std::size_t w = 0; w < pushed_.size(); ++w) {
      if (pushed_[w] && (rule_.sum != Sum::last_come || w == last_)) used.push_back(w);
    }
    if (rule_.sum == Sum::first_worker) used.resize(1);
    if (rule_.sum == Sum::last_worker) used = {used.back()};
    if (rule_.reversed) std::ranges::reverse(used);
    for (const std::size_t w : used) {
      const Values share = scaled(*pushed_[w], factor(pushes));
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share[i];
    }
    for (auto& pushed : pushed_) pushed.reset();
    update(mean);
  }

  void update(const Values& gradient) {
    Values parameters = versions.back();
    for (int time = 0; time < rule_.times; ++time) {
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        velocity_[i] = case_.momentum * velocity_[i] + gradient[i];
        parameters[i] -= rate_ * velocity_[i];
      }
    }
    versions.push_back(parameters);
  }

  const LoopsCase& case_;
  UpdateRule rule_;
  std::vector<std::optional<Values>> pushed_;
  std::vector<bool> left_;
  Values velocity_;
  double rate_ = 0;
  std::size_t last_ = 0;  // who has pushed
};

struct Misreading {
  UpdateRule rule;
  Cause cause;
};

std::vector<Misreading> misreadings(const LoopsCase& c) {
  const UpdateRule right = right_rule(c);
  const auto with = [&](auto change) {
    UpdateRule rule = right;
    change(rule);
    return rule;
  };
  const Cause twice{"applied_twice", "each update was made twice; a push is in one update"};
  const Cause first_rate{"first_rate",
                         "every update was made at the first push's rate; use the rate that comes "
                         "with the push"};
  std::vector<Misreading> all{{with([](UpdateRule& rule) { rule.times = 2; }), twice},
                              {with([](UpdateRule& rule) { rule.first_rate = true; }), first_rate}};
  if (c.staleness > 0) {
    all.push_back({with([](UpdateRule& rule) { rule.factor = Factor::one; }),
                   {"not_scaled", text("each push moved the parameters ", c.workers,
                                       " times as far: multiply its gradient by 1/workers")}});
    all.push_back({with([](UpdateRule& rule) { rule.factor = Factor::over_active; }),
                   {"scaled_by_active",
                    "each push counts 1/workers, and workers that have left stay in that number; "
                    "here it was 1 over those still at work"}});
    all.push_back({{When::in_rounds, Factor::over_pushes},
                   {"averages_rounds",
                    "pushes were kept until every worker had pushed, and averaged; with a "
                    "staleness of 1 or more, each push is an update of its own, at once"}});
    return all;
  }
  all.push_back({with([](UpdateRule& rule) { rule.reversed = true; }),
                 {"other_order",
                  "the pushes of a round were not added in the order of workers; floating point "
                  "rounds each sum, so the order decides the bits"}});
  all.push_back({with([](UpdateRule& rule) { rule.factor = Factor::one; }),
                 {"summed", "the pushes of a round were added; the update is with their mean"}});
  all.push_back({with([](UpdateRule& rule) { rule.factor = Factor::over_workers; }),
                 {"divided_by_all",
                  "the sum was divided by all workers, also those that have left; divide by the "
                  "number of the round's pushes"}});
  all.push_back(
      {with([](UpdateRule& rule) { rule.keeps_lost_push = false; }),
       {"lost_push_dropped",
        "a lost worker's push was taken out of its round; what it pushed before counts"}});
  all.push_back(
      {with([](UpdateRule& rule) { rule.keeps_left_push = false; }),
       {"left_push_dropped",
        "a worker that left, finished or lost, took its push out of its round; what it pushed "
        "before counts"}});
  for (const Sum sum : {Sum::last_come, Sum::first_worker, Sum::last_worker}) {
    for (const Factor factor : {Factor::over_pushes, Factor::one}) {
      all.push_back(
          {{.when = When::in_rounds, .factor = factor, .sum = sum},
           {"one_push", "the update is with one push alone; keep the pushes of all workers"}});
    }
  }
  for (const Factor factor : {Factor::over_workers, Factor::one, Factor::over_active}) {
    all.push_back({{When::at_once, factor},
                   {"no_rounds",
                    "each push was an update of its own; with a staleness of 0 there is one update "
                    "a round, with the mean"}});
  }
  return all;
}

// Each element is that of a version, but not all of the same.
bool is_torn(const std::vector<Values>& versions, const Values& seen) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const bool known = std::ranges::any_of(versions, [&](const Values& version) {
      return near({&seen[i], 1}, {&version[i], 1});
    });
    if (!known) return false;
  }
  return true;
}

// Lists what each push adds to the parameters in the end: updates are linear in it.
std::vector<Term> terms_of(const LoopsCase& c, std::span<const Taken> taken) {
  std::vector<Term> all;
  std::vector<int> pushes(static_cast<std::size_t>(c.workers));
  for (std::size_t k = 0; k < taken.size(); ++k) {
    if (taken[k].kind != Kind::push) continue;
    std::vector<Taken> alone(taken.begin(), taken.end());
    for (std::size_t other = 0; other < alone.size(); ++other) {
      if (other != k) std::ranges::fill(alone[other].gradient, 0);
    }
    Values moved = versions(c, alone, right_rule(c)).back();
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= c.parameters[i];
    const int number = ++pushes[static_cast<std::size_t>(taken[k].worker)];
    all.push_back({text("push ", number, " of worker ", taken[k].worker), 1, std::move(moved)});
  }
  return all;
}

}  // namespace

UpdateRule right_rule(const LoopsCase& c) {
  if (c.staleness > 0) return {};
  return {When::in_rounds, Factor::over_pushes};
}

std::vector<Values> versions(const LoopsCase& c, std::span<const Taken> taken,
                             const UpdateRule& rule) {
  Replayed server(c, rule);
  for (const Taken& one : taken) server.take(one);
  return server.versions;
}

bool near(std::span<const double> seen, std::span<const double> expected) {
  std::vector<double> tolerance;
  for (const double value : expected) tolerance.push_back(1e-12 * std::max(1.0, std::fabs(value)));
  return !first_difference(seen, expected, tolerance);
}

Cause cause_of(const LoopsCase& c, std::span<const Taken> taken, const Values& seen) {
  if (seen.size() != c.parameters.size()) {
    return {"other_length", "an answer is all of the parameters"};
  }
  const auto history = versions(c, taken, right_rule(c));
  UpdateRule only_pushes = right_rule(c);
  only_pushes.leaving_ends = false;
  if (c.staleness == 0 && near(seen, versions(c, taken, only_pushes).back())) {
    return {"leaving_ends_no_round",
            "a round was still open though every worker had pushed or left: the last one to act "
            "left, and that ends a round as a push does. Look at it after both"};
  }
  for (std::size_t k = 0; k + 1 < history.size(); ++k) {
    if (!near(seen, history[k])) continue;
    const std::size_t behind = history.size() - 1 - k;
    return {"old_version",
            text("these are the parameters of ", behind, behind == 1 ? " update" : " updates",
                 " ago: make ",
                 c.staleness > 0 ? "an update of each push"
                                 : "the update of a round when its last worker has pushed or left",
                 ", before the next request is taken, and answer with the parameters of the "
                 "moment")};
  }
  const auto right = std::span<const double>(history.back());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (near({&seen[i], 1}, {&right[i], 1})) continue;
    if (auto cause = cause_by_finiteness(seen, right, i)) return *std::move(cause);
  }
  if (std::ranges::equal(seen, right, [](double a, double b) {
        return std::fabs(a - b) <= 1e-6 * std::max(1.0, std::fabs(b));
      })) {
    return {"rounded",
            "only the last digits are wrong: a gradient or a parameter was rounded to a smaller "
            "type; keep the type of the tensors"};
  }
  if (std::ranges::any_of(seen, [](double value) { return std::isinf(value); })) {
    return {"sum_overflows",
            "a sum of whole pushes is too large for its type, and their mean is not: multiply each "
            "push by 1 over their number, and then add"};
  }
  for (const Misreading& misreading : misreadings(c)) {
    const auto other = versions(c, taken, misreading.rule);
    if (near(seen, other.back())) return misreading.cause;
  }
  if (is_torn(history, seen)) {
    return {"torn",
            "some elements are of one version and some of another; answer between two updates, "
            "never in the middle of one"};
  }
  const auto averaged = versions(c, taken, {When::in_rounds, Factor::over_pushes});
  if (c.staleness > 0 &&
      std::ranges::any_of(averaged, [&](const Values& version) { return near(seen, version); })) {
    return {"averages_rounds",
            "pushes were kept and averaged; with a staleness of 1 or more, each push is an update "
            "of its own, at once"};
  }
  if (auto terms = cause_of_terms(seen, right, terms_of(c, taken))) return *std::move(terms);
  return {"other_parameters",
          c.staleness > 0
              ? "each push is one update, with its gradient times 1/workers, at its rate"
              : "a round is one update, with the mean of its pushes, at their rate"};
}

}  // namespace lockstep::grader::parameter_server
