// Ways in which experts choose tokens: the right one, and usual mistakes.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "grader/exam/router_logits.hpp"
#include "grader/parts/14_expert_parallel/expert_choice/case.hpp"

namespace lockstep::grader::expert_choice {

using expert_parallel::Route;
using expert_parallel::SlotPlan;

// Departures from the contract.
struct Ways {
  enum class Score : std::uint8_t {
    softmax,
    over_tokens,
    sums_over_tokens,  // each token's e^(logit - maximum), divided by an expert's sum of them
    logit,
    no_maximum
  } score = Score::softmax;
  enum class Room : std::uint8_t {
    contract,
    without_factor,   // ⌈T/E⌉
    without_experts,  // ⌈T·F⌉
    rounded_down
  } room = Room::contract;
  enum class Chosen : std::uint8_t {
    best,
    worst,
    later_of_equal,
    one_expert_each,  // a token that is taken is passed over
    by_tokens         // each token goes to its best expert, while that has slots
  } chosen = Chosen::best;
  enum class Listed : std::uint8_t {
    by_slot,
    by_token,
    choice_counts_slots
  } listed = Listed::by_slot;
  enum class Weight : std::uint8_t { score, one, doubled, over_tokens } weight = Weight::score;
};

inline std::vector<double> softmax(std::vector<double> logits, Ways::Score score) {
  const bool subtracts = score != Ways::Score::no_maximum && !logits.empty();
  const double most = subtracts ? std::ranges::max(logits) : 0;
  double sum = 0;
  for (double& one : logits) sum += one = std::exp(one - most);
  for (double& one : logits) one /= sum;
  return logits;
}

// By expert, of all tokens.
inline std::vector<std::vector<double>> scores_of(const RouterLogits& logits, Ways::Score score) {
  std::vector<std::vector<double>> columns(static_cast<std::size_t>(logits.experts()));
  for (std::int64_t t = 0; t < logits.tokens(); ++t) {
    std::vector<double> row;
    for (std::int64_t e = 0; e < logits.experts(); ++e) row.push_back(logits.of(t, e));
    const bool along_rows = score == Ways::Score::softmax || score == Ways::Score::no_maximum;
    if (along_rows) row = softmax(std::move(row), score);
    if (score == Ways::Score::sums_over_tokens) {
      const double most = std::ranges::max(row);
      for (double& one : row) one = std::exp(one - most);
    }
    for (std::size_t e = 0; e < row.size(); ++e) columns[e].push_back(row[e]);
  }
  for (auto& column : columns) {
    if (score != Ways::Score::sums_over_tokens) break;
    const double sum = std::accumulate(column.begin(), column.end(), 0.0);
    for (double& one : column) one /= sum;
  }
  if (score != Ways::Score::over_tokens) return columns;
  for (auto& column : columns) column = softmax(std::move(column), score);
  return columns;
}

inline std::int64_t room_of(const ChoiceQuestion& q, Ways::Room room) {
  const auto tokens = static_cast<double>(q.logits.tokens());
  double share = tokens * q.capacity_factor / static_cast<double>(q.logits.experts());
  if (room == Ways::Room::without_factor) share /= q.capacity_factor;
  if (room == Ways::Room::without_experts) share = tokens * q.capacity_factor;
  if (room == Ways::Room::rounded_down && share < tokens) return static_cast<std::int64_t>(share);
  return std::min(q.logits.tokens(), expert_parallel::rounded_up(share));
}

inline SlotPlan planned(const ChoiceQuestion& q, const Ways& w = {}) {
  using Chosen = Ways::Chosen;
  const std::int64_t tokens = q.logits.tokens(), experts = q.logits.experts();
  SlotPlan plan{tokens, experts, room_of(q, w.room), {}};
  std::vector<std::int64_t> taken(static_cast<std::size_t>(tokens));
  const auto scores = scores_of(q.logits, w.score);
  // Logits are compared, and probabilities are the weights.
  const bool by_logit = w.score == Ways::Score::logit;
  const bool other_axis = w.weight == Ways::Weight::over_tokens;
  const auto weights = by_logit     ? scores_of(q.logits, Ways::Score::softmax)
                       : other_axis ? scores_of(q.logits, Ways::Score::over_tokens)
                                    : scores;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const auto score = [&](std::int64_t t) {
      return scores[static_cast<std::size_t>(expert)][static_cast<std::size_t>(t)];
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(tokens));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    if (w.chosen == Chosen::later_of_equal) std::ranges::reverse(order);
    if (w.chosen != Chosen::by_tokens) {
      const double sign = w.chosen == Chosen::worst ? -1 : 1;
      std::ranges::stable_sort(order,
                               [&](auto a, auto b) { return sign * score(a) > sign * score(b); });
    }
    const auto weight_of = [&](std::int64_t t) {
      const auto& column = weights[static_cast<std::size_t>(expert)];
      const double weight = column[static_cast<std::size_t>(t)];
      return w.weight == Ways::Weight::one       ? 1
             : w.weight == Ways::Weight::doubled ? 2 * weight
                                                 : weight;
    };
    std::vector<Route> places;
    for (const std::int64_t t : order) {
      if (std::ssize(places) == plan.capacity) break;
      std::int64_t& times = taken[static_cast<std::size_t>(t)];
      if (w.chosen == Chosen::one_expert_each && times > 0) continue;
      const auto better = [&](std::int64_t other) {
        const double is = q.logits.of(t, other), mine = q.logits.of(t, expert);
        return is > mine || (is == mine && other < expert);
      };
      std::int64_t better_ones = 0;
      for (std::int64_t e = 0; e < experts; ++e) better_ones += better(e) ? 1 : 0;
      if (w.chosen == Chosen::by_tokens && better_ones > 0) continue;
      const bool counts = w.listed == Ways::Listed::choice_counts_slots;
      places.push_back({t, expert, counts ? std::ssize(places) : 0, weight_of(t)});
      ++times;
    }
    if (w.listed == Ways::Listed::by_token) std::ranges::sort(places, {}, &Route::token);
    plan.placed.insert(plan.placed.end(), places.begin(), places.end());
  }
  return plan;
}

struct KnownChoice {
  Cause cause;
  Ways ways;
};
inline const std::vector<KnownChoice>& wrong_ways() {
  using enum Ways::Chosen;
  using enum Ways::Room;
  using Score = Ways::Score;
  using Listed = Ways::Listed;
  using Weight = Ways::Weight;
  const std::string other_axis =
      "the softmax was taken over the tokens of an expert; a score is the token's probability "
      "among its experts";
  static const std::vector<KnownChoice> all{
      {{"without_factor",
        "the capacity is ⌈T/E⌉, without the factor; with F, an expert has ⌈T·F/E⌉ slots"},
       {.room = without_factor}},
      {{"without_experts",
        "the capacity is ⌈T·F⌉; F is the number of experts that a token has on average, and E "
        "experts share the T·F places"},
       {.room = without_experts}},
      {{"rounded_down", "the capacity was rounded down; ⌈ ⌉ rounds up"}, {.room = rounded_down}},
      {{"by_tokens",
        "each token went to its best expert, as long as that had slots; here the experts choose, "
        "and each takes its best tokens until it is full"},
       {.chosen = by_tokens}},
      {{"one_expert_each",
        "a token that an expert has taken was passed over by the others; a token may have several "
        "experts, or none"},
       {.chosen = one_expert_each}},
      {{"over_tokens", other_axis}, {.score = Score::over_tokens}},
      {{"over_tokens", other_axis}, {.score = Score::sums_over_tokens}},
      {{"over_tokens", other_axis}, {.weight = Weight::over_tokens}},
      {{"by_logits",
        "tokens were compared by their logits; a logit says how an expert compares with other "
        "experts of the same token, so take the softmax first"},
       {.score = Score::logit}},
      {{"no_maximum",
        "e^logit of a large logit is infinite, and of a very small one 0: subtract the token's "
        "largest logit first"},
       {.score = Score::no_maximum}},
      {{"worst", "these are the tokens with the smallest probabilities"}, {.chosen = worst}},
      {{"later_of_equal",
        "of equal probabilities, the later token comes first; the earlier one must come first"},
       {.chosen = later_of_equal}},
      {{"listed_by_token",
        "the slots of an expert are in the order of tokens; its best token has slot 0"},
       {.listed = Listed::by_token}},
      {{"choice_is_not_0", "`choice` counts the slots; here it is 0, since no token chooses"},
       {.listed = Listed::choice_counts_slots}},
      {{"weights_are_one", "every weight is 1; it is the token's probability"},
       {.weight = Weight::one}},
      {{"weights_doubled", "every weight is twice the token's probability; it is the probability"},
       {.weight = Weight::doubled}},
  };
  return all;
}

}  // namespace lockstep::grader::expert_choice
