#include "grader/parts/09_asynchronous/parameter_server/oracle.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "grader/exam/function/odd_values.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_terms.hpp"

namespace lockstep::grader::parameter_server {
namespace {

// The server's rule: with a staleness of 0 a round is an update, and else each push is.
class Replayed {
 public:
  explicit Replayed(const LoopsCase& c)
      : case_(c),
        pushed_(static_cast<std::size_t>(c.workers)),
        left_(static_cast<std::size_t>(c.workers)),
        velocity_(c.parameters.size()) {
    versions.push_back(c.parameters);
  }

  void take(const Taken& taken) {
    const auto worker = static_cast<std::size_t>(taken.worker);
    if (taken.kind == Kind::pull) return;
    if (taken.kind == Kind::push) {
      rate_ = taken.rate;
      if (case_.staleness > 0) return update(scaled(taken.gradient, 1.0 / case_.workers));
      pushed_[worker] = taken.gradient;
    } else {
      left_[worker] = true;
    }
    close_round();
  }

  std::vector<Values> versions;

 private:
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
    for (auto& pushed : pushed_) {
      if (!pushed) continue;
      const Values share = scaled(*pushed, 1 / pushes);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share[i];
      pushed.reset();
    }
    update(mean);
  }

  void update(const Values& gradient) {
    Values parameters = versions.back();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      velocity_[i] = case_.momentum * velocity_[i] + gradient[i] + case_.decay * parameters[i];
      parameters[i] -= rate_ * velocity_[i];
    }
    versions.push_back(parameters);
  }

  const LoopsCase& case_;
  std::vector<std::optional<Values>> pushed_;
  std::vector<bool> left_;
  Values velocity_;
  double rate_ = 0;
};

// Lists what each push adds to the parameters in the end: updates are affine in it.
std::vector<Term> terms_of(const LoopsCase& c, std::span<const Taken> taken) {
  std::vector<Term> all;
  std::vector<int> pushes(static_cast<std::size_t>(c.workers));
  std::vector<Taken> zeros(taken.begin(), taken.end());
  for (Taken& one : zeros) std::ranges::fill(one.gradient, 0);
  const Values unmoved = versions(c, zeros).back();
  for (std::size_t k = 0; k < taken.size(); ++k) {
    if (taken[k].kind != Kind::push) continue;
    std::vector<Taken> alone = zeros;
    alone[k] = taken[k];
    Values moved = versions(c, alone).back();
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= unmoved[i];
    const int number = ++pushes[static_cast<std::size_t>(taken[k].worker)];
    all.push_back({text("push ", number, " of worker ", taken[k].worker), 1, std::move(moved)});
  }
  return all;
}

}  // namespace

std::vector<Values> versions(const LoopsCase& c, std::span<const Taken> taken) {
  Replayed server(c);
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
  const auto history = versions(c, taken);
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
  Values once_more = history.back();
  for (std::size_t i = 0; i < once_more.size() && history.size() > 1; ++i) {
    once_more[i] += c.momentum * (once_more[i] - history[history.size() - 2][i]);
  }
  if (c.momentum != 0 && near(seen, once_more)) {
    return {"update_without_push",
            "the optimizer made one update more, without a gradient: a round without a push is no "
            "update"};
  }
  if (auto terms = cause_of_terms(seen, right, terms_of(c, taken))) return *std::move(terms);
  return {
      "other_parameters",
      c.staleness > 0
          ? "each push is one update, with its gradient times 1/workers, at its rate"
          : "a round ends when each worker has pushed in it or has left; it is one update, with "
            "the mean of its pushes, at their rate, and none if there was no push"};
}

}  // namespace lockstep::grader::parameter_server
