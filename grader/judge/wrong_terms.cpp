#include "grader/judge/wrong_terms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/text.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

using Numbers = std::vector<double>;

constexpr std::size_t shown_max = 3;  // terms that a sentence names
constexpr double same = 1e-4;         // of weights, relative to the largest

double product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t e = 0; e < a.size(); ++e) sum += a[e] * b[e];
  return sum;
}

double largest(std::span<const double> values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::fabs(value));
  return most;
}

// The weights by which `wrong`, the difference of two sums, is made of terms; found by the normal
// equations of some of them.
class Weights {
 public:
  Weights(Numbers wrong, const std::vector<Term>& terms, double slack)
      : wrong_(std::move(wrong)), terms_(terms), slack_(slack) {}

  // Solved by elimination; nothing if terms are alike, or do not give the whole.
  std::optional<Numbers> of(const std::vector<std::size_t>& some) const {
    const std::size_t n = some.size();
    std::vector<Numbers> rows(n, Numbers(n + 1));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) rows[i][j] = product(values(some[i]), values(some[j]));
      rows[i][n] = product(values(some[i]), wrong_);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double whole = product(values(some[i]), values(some[i]));
      if (rows[i][i] <= 1e-9 * whole || whole == 0) return std::nullopt;
      for (std::size_t below = i + 1; below < n; ++below) {
        const double factor = rows[below][i] / rows[i][i];
        for (std::size_t j = i; j <= n; ++j) rows[below][j] -= factor * rows[i][j];
      }
    }
    Numbers more(terms_.size());
    for (std::size_t i = n; i-- > 0;) {
      double rest = rows[i][n];
      for (std::size_t j = i + 1; j < n; ++j) rest -= rows[i][j] * more[some[j]];
      more[some[i]] = rest / rows[i][i];
    }
    return explains(more) ? std::optional(more) : std::nullopt;
  }

 private:
  std::span<const double> values(std::size_t term) const { return terms_[term].values; }

  bool explains(const Numbers& more) const {
    for (std::size_t e = 0; e < wrong_.size(); ++e) {
      double left = wrong_[e];
      for (std::size_t k = 0; k < more.size(); ++k) left -= more[k] * terms_[k].values[e];
      if (!(std::fabs(left) <= slack_)) return false;
    }
    return true;
  }

  Numbers wrong_;
  const std::vector<Term>& terms_;
  double slack_;
};

// Says what became of terms, by the weights that they have.
class Sentence {
 public:
  Sentence(const std::vector<Term>& terms, Numbers weights)
      : terms_(terms), weights_(std::move(weights)) {
    for (const Term& term : terms) most_ = std::max(most_, std::fabs(term.weight));
    for (std::size_t k = 0; k < terms.size(); ++k) {
      if (!is(weights_[k], terms[k].weight)) wrong_.push_back(k);
    }
  }

  std::string of_all() const {
    if (auto one = only_one()) return *one;
    if (auto equal = all_equal()) return *equal;
    if (auto moved = weights_of_others()) return *moved;
    std::string all;
    std::vector<bool> told(terms_.size());
    for (const std::size_t k : wrong_) {
      if (told[k]) continue;
      std::vector<std::size_t> alike;
      for (const std::size_t other : wrong_) {
        if (fate(other) == fate(k)) alike.push_back(other), told[other] = true;
      }
      all += text(all.empty() ? "" : "; ", names_of(alike), " ",
                  fate(k, alike.size() > 1 ? Number::several : Number::one));
    }
    return all;
  }

 private:
  enum class Number : std::uint8_t { one, several };

  bool is(double a, double b) const { return std::fabs(a - b) <= same * most_; }
  static std::string shown(double weight) { return number(std::round(weight * 1e6) / 1e6); }

  // Says what happened to a term: "is missing", "counts twice".
  std::string fate(std::size_t k, Number of = Number::one) const {
    const double right = terms_[k].weight, seen = weights_[k];
    const std::string is_or_are = of == Number::one ? "is" : "are",
                      counts = of == Number::one ? "counts" : "count each";
    if (right == 0) {
      return text(is_or_are, " in it", is(std::fabs(seen), 1) ? "" : text(", times ", shown(seen)),
                  " and ", of == Number::one ? "does" : "do", " not belong there");
    }
    if (is(seen, 0)) return is_or_are + " missing";
    if (is(seen, 2 * right)) return counts + " twice";
    if (is(seen, right / 2)) return counts + " half";
    if (is(seen, -right)) return is_or_are + " subtracted";
    return text(counts, " ", shown(seen / right), " times as much as it should");
  }

  std::string names_of(const std::vector<std::size_t>& some) const {
    std::string all;
    for (std::size_t i = 0; i < std::min(shown_max, some.size()); ++i) {
      const bool last = i > 0 && i + 1 == some.size();
      all += text(i == 0 ? "" : last ? " and " : ", ", terms_[some[i]].name);
    }
    return some.size() > shown_max ? text(all, " and ", some.size() - shown_max, " more") : all;
  }

  // The terms that belong to the sum.
  std::vector<std::size_t> own() const {
    std::vector<std::size_t> all;
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      if (terms_[k].weight != 0) all.push_back(k);
    }
    return all;
  }

  std::optional<std::string> only_one() const {
    std::optional<std::size_t> there;
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      if (is(weights_[k], 0)) continue;
      if (there) return std::nullopt;
      there = k;
    }
    if (!there || own().size() < 3) return std::nullopt;
    const bool right = is(weights_[*there], terms_[*there].weight);
    return text("of all its terms, only ", terms_[*there].name, " is in it",
                right ? "" : text(", ", shown(weights_[*there]), " times"));
  }

  std::optional<std::string> all_equal() const {
    const auto mine = own();
    const bool differ = std::ranges::any_of(
        mine, [&](std::size_t k) { return !is(terms_[k].weight, terms_[mine.front()].weight); });
    const bool equal = differ && std::ranges::all_of(mine, [&](std::size_t k) {
                         return is(weights_[k], weights_[mine.front()]);
                       });
    const bool others_right =
        std::ranges::all_of(wrong_, [&](std::size_t k) { return terms_[k].weight != 0; });
    if (!equal || !others_right || mine.size() < 2 || is(weights_[mine.front()], 0)) {
      return std::nullopt;
    }
    return text("each of its ", mine.size(), " terms counts ", shown(weights_[mine.front()]),
                " times, and their weights differ: ", terms_[wrong_.front()].name, " has ",
                shown(terms_[wrong_.front()].weight));
  }

  // Each wrong term has the weight of another: micro-batches that were exchanged, or one behind.
  std::optional<std::string> weights_of_others() const {
    std::string all;
    for (const std::size_t k : wrong_) {
      const auto has_it = [&](std::size_t other) { return is(weights_[k], terms_[other].weight); };
      const auto mine = own();
      const auto other = std::ranges::find_if(mine, has_it);
      if (other == mine.end() || wrong_.size() < 2) return std::nullopt;
      all +=
          text(all.empty() ? "" : ", ", terms_[k].name, " has the weight of ", terms_[*other].name);
    }
    return all;
  }

  const std::vector<Term>& terms_;
  Numbers weights_;
  double most_ = 0;
  std::vector<std::size_t> wrong_;
};

}  // namespace

std::optional<Cause> cause_of_terms(std::span<const double> seen, std::span<const double> right,
                                    const std::vector<Term>& all_terms, double rounding) {
  constexpr std::size_t spare = 3;  // elements that no weight is chosen for
  Numbers wrong(seen.begin(), seen.end());
  if (seen.size() != right.size()) return std::nullopt;
  for (std::size_t e = 0; e < wrong.size(); ++e) wrong[e] -= right[e];
  std::vector<Term> terms;
  for (const Term& term : all_terms) {
    if (term.values.size() != wrong.size() || !std::isfinite(product(term.values, wrong))) {
      return std::nullopt;
    }
    if (largest(term.values) > 0) terms.push_back(term);
  }
  const double slack = rounding * std::max(largest(seen), largest(right));
  if (largest(wrong) <= slack) return std::nullopt;
  const Weights weights(std::move(wrong), terms, slack);
  const auto told = [&](Numbers more) {
    for (std::size_t k = 0; k < more.size(); ++k) more[k] += terms[k].weight;
    return Cause{"term_weight", Sentence(terms, std::move(more)).of_all()};
  };
  // One term explains more than several do.
  for (std::size_t k = 0; k < terms.size() && seen.size() > spare; ++k) {
    if (const auto more = weights.of({k})) return told(*more);
  }
  if (terms.size() < 2 || seen.size() < terms.size() + spare) return std::nullopt;
  std::vector<std::size_t> all(terms.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (const auto more = weights.of(all)) return told(*more);
  return std::nullopt;
}

}  // namespace lockstep::grader
