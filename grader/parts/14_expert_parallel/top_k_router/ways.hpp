// Ways to choose experts for tokens: the right one, and usual mistakes.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "grader/exam/router_logits.hpp"
#include "grader/parts/14_expert_parallel/top_k_router/case.hpp"

namespace lockstep::grader::top_k_router {

using expert_parallel::Route;

// Departures from the contract.
struct Ways {
  enum class Chosen : std::uint8_t {
    largest,
    smallest,
    later_of_equal,  // of equal logits, the expert with the larger number
    by_probability,  // of other logits, e^(logit - maximum) may be equal
    over_tokens,     // by the softmax of an expert's logits
    only_the_best,   // K times
    not_the_last     // a choice only differs from the one before it
  } chosen = Chosen::largest;
  enum class Weight : std::uint8_t {
    contract,
    of_all,     // the probability, also for K above 1
    of_chosen,  // divided by their sum, also for K = 1
    equal,      // 1/K
    logit,
    no_maximum,  // e^logit overflows
    sigmoid
  } weight = Weight::contract;
  bool by_number = false;   // a token's choices by the number of the expert
  bool transposed = false;  // logits read as [E, T]
  bool by_choice = false;   // all first choices before all second ones
  bool choice_is_0 = false;
  std::int64_t choices_max = INT64_MAX;
};

inline Routes routed(const RouteQuestion& q, const Ways& w = {}) {
  using Chosen = Ways::Chosen;
  using Weight = Ways::Weight;
  const std::int64_t tokens = q.logits.tokens(), experts = q.logits.experts();
  const auto at = [](std::int64_t index) { return static_cast<std::size_t>(index); };
  const auto logit = [&](std::int64_t token, std::int64_t expert) {
    return w.transposed ? q.logits.values[at(expert * tokens + token)] : q.logits.of(token, expert);
  };
  Routes routes;
  std::vector<std::int64_t> order(at(experts));
  for (std::int64_t token = 0; token < tokens; ++token) {
    const auto of = [&](std::int64_t expert) { return logit(token, expert); };
    double most = of(0), all = 0;
    for (std::int64_t e = 1; e < experts; ++e) most = std::max(most, of(e));
    for (std::int64_t e = 0; e < experts; ++e) all += std::exp(of(e) - most);
    const auto over_tokens = [&](std::int64_t expert) {
      double sum = 0;
      for (std::int64_t t = 0; t < tokens; ++t) {
        sum += std::exp(logit(t, expert) - of(expert));
      }
      return 1 / sum;
    };
    const auto size = [&](std::int64_t expert) {
      if (w.chosen == Chosen::smallest) return -of(expert);
      if (w.chosen == Chosen::by_probability) return std::exp(of(expert) - most);
      if (w.chosen == Chosen::over_tokens) return over_tokens(expert);
      return of(expert);
    };
    std::iota(order.begin(), order.end(), std::int64_t{0});
    if (w.chosen == Chosen::later_of_equal) std::ranges::reverse(order);
    std::ranges::stable_sort(order, [&](auto a, auto b) { return size(a) > size(b); });
    std::vector<std::int64_t> chosen(order.begin(), order.begin() + q.k);
    for (std::size_t c = 1; c < chosen.size(); ++c) {
      if (w.chosen == Chosen::only_the_best) chosen[c] = order[0];
      if (w.chosen == Chosen::not_the_last) chosen[c] = order[c % 2];
    }
    if (w.by_number) std::ranges::sort(chosen);
    double sum = 0;
    for (const std::int64_t e : chosen) sum += std::exp(of(e) - most);
    const bool of_all = w.weight == Weight::of_all || (w.weight != Weight::of_chosen && q.k == 1);
    for (std::int64_t c = 0; c < std::min(q.k, w.choices_max); ++c) {
      const std::int64_t e = chosen[at(c)];
      double weight = std::exp(of(e) - most) / (of_all ? all : sum);
      if (w.chosen == Chosen::over_tokens && q.k == 1) weight = over_tokens(e);
      if (w.weight == Weight::equal) weight = 1 / static_cast<double>(q.k);
      if (w.weight == Weight::logit) weight = of(e);
      if (w.weight == Weight::sigmoid) weight = 1 / (1 + std::exp(-of(e)));
      if (w.weight == Weight::no_maximum) {
        double below = 0;
        for (std::int64_t i = 0; i < experts; ++i) {
          if (of_all || std::ranges::find(chosen, i) != chosen.end()) below += std::exp(of(i));
        }
        weight = std::exp(of(e)) / below;
      }
      routes.push_back({token, e, w.choice_is_0 ? 0 : c, weight});
    }
  }
  if (w.by_choice) std::ranges::stable_sort(routes, {}, &Route::choice);
  return routes;
}

struct KnownRouting {
  Cause cause;
  Ways ways;
};
inline const std::vector<KnownRouting>& wrong_ways() {
  using enum Ways::Chosen;
  using Weight = Ways::Weight;
  static const std::vector<KnownRouting> all{
      {{"first_choice_alone", "these are the first choices alone; each token has K of them"},
       {.choices_max = 1}},
      {{"not_renormalised",
        "these are probabilities among all experts; for K above 1, divide them by the sum of the K "
        "chosen ones, so that a token's weights add up to 1"},
       {.weight = Weight::of_all}},
      {{"renormalised_alone",
        "with K = 1, a probability divided by itself is 1 whatever the router does, so the router "
        "would get no gradient; keep the probability among all experts"},
       {.weight = Weight::of_chosen}},
      {{"equal_weights", "every choice has weight 1/K; the weights are probabilities"},
       {.weight = Weight::equal}},
      {{"logits_as_weights", "the weight is the logit itself; take the softmax first"},
       {.weight = Weight::logit}},
      {{"sigmoid", "the weight is a sigmoid of the logit; it has to be the softmax"},
       {.weight = Weight::sigmoid}},
      {{"no_maximum",
        "e^logit of a large logit is infinite, and of a very small one 0: subtract the token's "
        "largest logit first"},
       {.weight = Weight::no_maximum}},
      {{"same_expert_twice", "all choices of a token are its best expert; they must differ"},
       {.chosen = only_the_best}},
      {{"chosen_again",
        "an expert is chosen again; leave out all experts chosen so far, not only the last one"},
       {.chosen = not_the_last}},
      {{"smallest", "these are the experts with the smallest logits"}, {.chosen = smallest}},
      {{"later_of_equal",
        "of equal logits, the expert with the larger number comes first; the smaller number must "
        "come first"},
       {.chosen = later_of_equal}},
      {{"chosen_by_probability",
        "logits differ here whose e^(logit - maximum) are equal, so the probabilities do not say "
        "which is larger; choose by the logits"},
       {.chosen = by_probability}},
      {{"over_tokens",
        "the softmax was taken over the tokens of an expert; take it over the experts of a token"},
       {.chosen = over_tokens}},
      {{"by_number", "a token's choices are sorted by expert; choice 0 has the largest logit"},
       {.by_number = true}},
      {{"choice_always_0",
        "`choice` is 0 in every route; it numbers a token's choices, from 0 to K - 1"},
       {.choice_is_0 = true}},
      {{"transposed",
        "logits are read as [experts, tokens]: the logit of token t for expert e is at t·E + e"},
       {.transposed = true}},
      {{"by_choice",
        "all first choices stand before all second ones; routes go token by token, and "
        "assign_slots sorts by choice"},
       {.by_choice = true}},
  };
  return all;
}

}  // namespace lockstep::grader::top_k_router
