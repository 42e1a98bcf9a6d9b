#include "grader/exam/lossy/causes.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "grader/judge/wrong_values.hpp"

namespace lockstep::grader {

bool is_close(double seen, double right, double tolerance) {
  if (std::isnan(right)) return std::isnan(seen);
  return seen == right || std::fabs(seen - right) <= tolerance;
}

double tolerance_at(const Right& right, std::size_t i) {
  return right.tolerance.empty() ? 0 : right.tolerance[i];
}

namespace {

// True if `seen` is what a mistake gives. It may round as a right answer may, by as much of what it
// gives.
bool fits(const Numbers& seen, const Numbers& gives, const Right& right) {
  if (seen.size() != gives.size() || seen.size() != right.values.size()) return false;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double wanted = right.values[i];
    double tolerance = tolerance_at(right, i);
    if (std::isfinite(gives[i])) {
      const bool larger = std::isfinite(wanted) && wanted != 0;
      tolerance *= larger ? std::max(1.0, std::fabs(gives[i] / wanted)) : 1;
      tolerance += 1e-6 * std::fabs(gives[i]);
    }
    if (!is_close(seen[i], gives[i], tolerance)) return false;
  }
  return true;
}

// Every value too large or too small by one factor, which rounding does not explain.
std::optional<Cause> scaled(const Numbers& seen, const Right& right) {
  constexpr std::size_t enough = 4;  // of fewer different values, one factor may be a coincidence
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < right.values.size(); ++i) {
    if (std::isfinite(right.values[i]) && right.values[i] != 0) places.push_back(i);
  }
  const auto value_at = [&](std::size_t i) { return right.values[i]; };
  std::ranges::sort(places, {}, value_at);
  const auto [first_again, end] = std::ranges::unique(places, {}, value_at);
  places.erase(first_again, end);
  if (places.size() < enough) return std::nullopt;
  const std::size_t at = *std::ranges::max_element(
      places, {}, [&](std::size_t i) { return std::fabs(right.values[i]); });
  const double factor = seen[at] / right.values[at];
  const double apart = std::fabs(seen[at] - right.values[at]);
  if (!std::isfinite(factor) || factor == 0 || apart <= 4 * tolerance_at(right, at)) {
    return std::nullopt;
  }
  Numbers gives = right.values;
  for (double& value : gives) value *= factor;
  if (!fits(seen, gives, right)) return std::nullopt;
  std::ostringstream times;
  times << factor;  // six digits
  return Cause{"scaled", text("every value is ", times.str(),
                              " times the right one: a factor is missing, or one too many")};
}

// True if nothing but digits is wrong: each element is right to some six of them.
bool only_digits(const Numbers& seen, const Right& right) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double digits = 4e-6 * std::fabs(right.values[i]);
    const bool right_or_near =
        std::isfinite(digits) && std::fabs(seen[i] - right.values[i]) <= digits;
    if (!right_or_near && !is_close(seen[i], right.values[i], tolerance_at(right, i))) return false;
  }
  return true;
}

// If only digits are wrong, nearly every mistake that gives nearly the right values seems to be the
// cause. The true one gives values that are much nearer to those seen.
bool gives_these_digits(const Numbers& seen, const Numbers& gives, const Right& right) {
  double apart = 0, unexplained = 0;
  for (std::size_t i = 0; i < std::min(seen.size(), gives.size()); ++i) {
    if (is_close(seen[i], right.values[i], tolerance_at(right, i))) continue;
    apart = std::max(apart, std::fabs(seen[i] - right.values[i]));
    unexplained = std::max(unexplained, std::fabs(seen[i] - gives[i]));
  }
  return unexplained <= apart / 4;
}

}  // namespace

Cause cause_of(const Numbers& seen, const Right& right, const std::vector<Term>& terms) {
  const auto of_rank_1 = [](const Term& term) { return term.name.starts_with("rank 1's"); };
  if (seen.size() != right.values.size()) return {"length", "the number of elements changed"};
  const bool digits = only_digits(seen, right);
  for (const auto& mistake : right.mistakes) {
    if (!fits(seen, mistake.gives, right)) continue;
    if (!digits || gives_these_digits(seen, mistake.gives, right)) return mistake.cause;
  }
  if (digits) {
    return {"last_digits",
            "only the last digits are wrong: a value was rounded to a smaller type on the way, or "
            "once more than the contract says"};
  }
  const auto finite = [](double value) { return std::isfinite(value); };
  if (std::ranges::all_of(right.values, finite) && !std::ranges::all_of(seen, finite)) {
    return right.not_finite.value_or(
        Cause{"no_number",
              "a value is not finite, although all right ones are, and so are their sums: bytes "
              "were read that had not come yet (before wait()), or that are no such number"});
  }
  if (auto narrower = narrower_type(seen, right.values)) return *std::move(narrower);
  if (auto factor = scaled(seen, right)) return *std::move(factor);
  auto by_terms = cause_of_terms(seen, right.values, terms, 1e-4);
  const bool missing = by_terms && by_terms->sentence.ends_with("the right result is missing");
  if (missing && by_terms->sentence.starts_with("the right")) by_terms.reset();
  if (missing && by_terms && std::ranges::none_of(terms, of_rank_1)) {
    by_terms->sentence =
        "it is all of what came in: a rank that is alone in its group does what all "
        "do, and only sends nothing";
  }
  return by_terms.value_or(right.otherwise);
}

std::vector<Term> terms_of(const LossySeen& seen, std::size_t call, const Right& right) {
  Numbers mean(right.values.size());
  std::vector<Term> all;
  for (std::size_t r = 0; r < seen.gradients[call].size(); ++r) {
    const Numbers& own = seen.gradients[call][r];
    for (std::size_t e = 0; e < std::min(own.size(), mean.size()); ++e) {
      mean[e] += own[e] / seen.ranks();
    }
    all.push_back({text("rank ", r, "'s gradient"), 0, own});
  }
  // If nothing is left out, the gradients are the terms of a mean.
  const bool is_mean = std::ranges::equal(mean, right.values, [](double a, double b) {
    return std::fabs(a - b) <= 1e-2 * std::fabs(b);
  });
  for (Term& term : all) term.weight = is_mean ? 1.0 / seen.ranks() : 0;
  if (!is_mean) all.push_back({"the right result", 1, right.values});
  for (int rank = 0; rank < seen.ranks() && !seen.kept.empty(); ++rank) {
    all.push_back({text("what rank ", rank, " had kept"), 0, seen.state_before(call, rank)});
  }
  if (call > 0) all.push_back({"the result of the call before", 0, seen.results[call - 1].front()});
  return all;
}

}  // namespace lockstep::grader
