// The exam of top_k_router: experts and weights for logits that the judge draws. The judge sorts
// and weighs them by itself.
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/exam/function/router_logits.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/14_expert_parallel/top_k_router/case.hpp"

namespace lockstep::grader::top_k_router {
namespace {

using expert_parallel::Route;
using Question = RouteQuestion;
using Limits = std::numeric_limits<double>;

bool valid(const Question& q) {
  return q.logits.shape.size() == 2 && q.k >= 1 && q.k <= q.logits.experts();
}

std::string text_of(const Question& q) { return text("K = ", q.k, ", ", text_of(q.logits)); }

Routes routed(const Question& q) {
  Routes routes;
  std::vector<std::int64_t> order(static_cast<std::size_t>(q.logits.experts()));
  for (std::int64_t token = 0; token < q.logits.tokens(); ++token) {
    const auto logit = [&](std::int64_t expert) { return q.logits.of(token, expert); };
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::stable_sort(order, std::greater<>(), logit);
    const auto share = [&](std::int64_t e) { return std::exp(logit(e) - logit(order.front())); };
    // A single choice has its probability among all experts.
    double sum = 0;
    for (const std::int64_t e :
         std::span(order).first(q.k == 1 ? order.size() : static_cast<std::size_t>(q.k))) {
      sum += share(e);
    }
    for (std::int64_t choice = 0; choice < q.k; ++choice) {
      const std::int64_t e = order[static_cast<std::size_t>(choice)];
      routes.push_back({token, e, choice, share(e) / sum});
    }
  }
  return routes;
}

Cause cause_of(const Question& q, const Routes& seen, const Routes& right) {
  if (!other_route(seen, right, 1e-5)) {
    return {"rounded", "only the last digits are wrong: on the way a double became a float"};
  }
  const auto same_choice = [](const Route& a, const Route& b) {
    return a.token == b.token && a.choice == b.choice && a.expert == b.expert;
  };
  const auto [is, wanted] = std::ranges::mismatch(seen, right, same_choice);
  if (is == seen.end() || wanted == right.end()) {
    return {"other_routes",
            text("the experts are right; a weight is e^(logit - maximum), with the maximum of this "
                 "token, divided by the sum of these over ",
                 q.k == 1 ? "all experts, also if K = 1" : "the K experts that were chosen")};
  }
  return {
      "other_routes",
      text("each token has K routes, whatever they weigh; its choice ", wanted->choice,
           " is expert ", wanted->expert, ": take each expert once, by falling logit, of equal ",
           "ones the smaller number first; any finite logit may be among them, -1e9, too")};
}

Failure fault_at(std::size_t at, const Question& q, const Routes& seen, const Routes& right) {
  if (at >= std::min(seen.size(), right.size())) {
    return {.message = text(counted(std::ssize(seen), "route"), " came back where ",
                            counted(q.logits.tokens(), "token"), " with K = ", q.k, " have ",
                            right.size()),
            .expected = text(right.size()),
            .seen = text(seen.size())};
  }
  const Route &is = seen[at], &wanted = right[at];
  if (is.token != wanted.token || is.choice != wanted.choice) {
    const auto shown = [](const Route& r) {
      return text("choice ", r.choice, " of token ", r.token);
    };
    return {.message = text("route ", at, " is ", shown(is), ", and should be ", shown(wanted)),
            .expected = shown(wanted),
            .seen = shown(is)};
  }
  const std::string which = text("choice ", wanted.choice, " of token ", wanted.token);
  if (is.expert != wanted.expert) {
    return {.message = text(which, " is expert ", is.expert, ", and should be ", wanted.expert),
            .expected = text(wanted.expert),
            .seen = text(is.expert)};
  }
  return {.message = text(which, ", expert ", is.expert, ", has weight ", number(is.weight),
                          " where ", number(wanted.weight), " is right"),
          .expected = number(wanted.weight),
          .seen = number(is.weight)};
}

std::optional<Failure> wrong(std::span<const Question> asked, const RouteAnswer& answer) {
  const Question& q = asked.back();
  const std::string returned = counted(std::ssize(answer.routes), "route");
  if (auto failure = wrong_ending_of_logits(q.logits, answer.ending, returned)) return failure;
  if (token_without_logit(q.logits)) return std::nullopt;
  const Routes right = routed(q);
  const auto at = other_route(answer.routes, right, weight_tolerance(q.logits));
  if (!at) return std::nullopt;
  return because(cause_of(q, answer.routes, right), fault_at(*at, q, answer.routes, right));
}

// The first token or the first half of the tokens, and one choice less.
std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  for (const std::int64_t tokens : {std::int64_t{1}, q.logits.tokens() / 2}) {
    if (tokens < 1 || tokens >= q.logits.tokens()) continue;
    offered.push_back({first_tokens(q.logits, tokens), q.k});
  }
  if (q.k > 2) offered.emplace_back(q).k = 2;
  return offered;
}

FunctionContract<Question, RouteAnswer> contract() {
  return {.text_of = text_of,
          .wrong = wrong,
          .refusals = {{.valid = valid,
                        .accepts = {"accepts_nonsense",
                                    "logits are [tokens, experts], and K is from 1 to the number "
                                    "of experts"}}},
          .smaller = smaller,
          .sizes = [](const Question& q) -> Sizes {
            return {0, {q.logits.tokens(), q.logits.experts()}};
          },
          .throws = [](const Question& q) { return token_without_logit(q.logits).has_value(); },
          .situations = [](const Question&) -> std::vector<Situation> {
            return {Situation::double_digits};
          }};
}

Question of(std::int64_t tokens, std::int64_t experts, std::int64_t k, std::vector<double> logits) {
  return {logits_of(tokens, experts, std::move(logits)), k};
}
Question drawn(CaseRunner& runner, std::int64_t tokens, std::int64_t experts, std::int64_t k,
               double reach = 3) {
  return {drawn_logits(runner, tokens, experts, reach), k};
}

// Probabilities of 1, 3 and 2 sixths, and of 1, 2 and 5 eighths.
std::vector<double> of_the_task() {
  return {0, std::log(3), std::log(2), 0, std::log(2), std::log(5)};
}

std::vector<Question> two_choices(CaseRunner&) { return {of(2, 3, 2, of_the_task())}; }

std::vector<Question> one_choice(CaseRunner& runner) {
  return {of(2, 3, 1, of_the_task()), drawn(runner, 5, 4, 1), drawn(runner, 3, 1, 1),
          drawn(runner, 7, 8, 1)};
}

std::vector<Question> any_size(CaseRunner& runner) {
  std::vector<Question> all;
  for (const auto& [tokens, experts, k] : {std::tuple{2, 4, 3},
                                           {7, 5, 3},
                                           {4, 4, 4},
                                           {3, 8, 8},
                                           {0, 4, 2},
                                           {1, 70'001, 3},
                                           {1, 7, 2},
                                           {13, 2, 2},
                                           {300, 3, 2}}) {
    all.push_back(drawn(runner, tokens, experts, k));
  }
  return all;
}

std::vector<Question> equal_logits(CaseRunner&) {
  return {{many_equal_logits(1, 40), 5},
          {many_equal_logits(1, 40, 3), 30},
          of(1, 4, 2, {1, 1, 1, 1}),
          of(3, 3, 2, {0, 2, 2, 2, 0, 2, 2, 2, 0}),
          of(1, 5, 4, {3, -1, 3, -1, 3}),
          of(2, 3, 1, {5, 5, 5, -5, -5, -5}),
          of(2, 3, 2, {-0.0, 0.0, -0.0, 0, -0.0, 0}),
          of(2, 3, 2, {0, 0x1p-1074, 0, -0x1p-1074, 0, -0x1p-1040})};
}

std::vector<Question> large_logits(CaseRunner& runner) {
  return {drawn(runner, 5, 4, 2, 1e4),
          drawn(runner, 5, 6, 1, 1e4),
          of(2, 3, 2, {1e4, 1e4 + 1, 1e4 - 1, -1e4, -1e4 - 1, -1e4 + 1}),
          of(1, 5, 4, {-9e3, 1e4, -1e4, -8e3, -7e3}),
          of(1, 4, 2, {710, 709.5, 0, -745}),
          of(1, 3, 3, {1e308, -1e308, 1e307})};
}

std::vector<Question> any_dtype(CaseRunner& runner) {
  std::vector<Question> all;
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const std::int64_t k : {std::int64_t{2}, std::int64_t{1}}) {
      all.push_back({rounded_logits(drawn_logits(runner, 4, 5), dtype), k});
    }
  }
  return all;
}

Check refusals() {
  auto refusing = contract();
  const Question fine = of(2, 3, 2, of_the_task());
  for (const std::int64_t k :
       {std::int64_t{0}, std::int64_t{4}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    refusing.refusals->nonsense.push_back(of(2, 3, k, of_the_task()));
  }
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{6}, {1, 2, 3}}) {
    refusing.refusals->nonsense.emplace_back(fine).logits.shape = shape;
  }
  std::vector<Question> valid{fine};
  for (const double odd : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{4}, std::size_t{5}}) {
      valid.emplace_back(fine).logits.values[at] = odd;
    }
  }
  valid.push_back(fine);
  return check_of_refusals(refusing,
                           "a logit that is no number is named; K and shapes that make no sense "
                           "are refused",
                           valid);
}

Check check(const std::string& name, std::vector<Question> (*questions)(CaseRunner&)) {
  return {name, [questions](CaseRunner& runner) {
            judge(runner, contract(), "logits", questions(runner));
          }};
}

}  // namespace

Exam exam() {
  return {
      check("the example of the task: two of three experts, with weights that add up to 1",
            two_choices),
      check("with K = 1, the weight is the probability among all experts", one_choice),
      check("any number of tokens, and any K up to all experts", any_size),
      check("of equal logits, the expert with the smaller number comes first", equal_logits),
      check("logits of ±10,000, near each other and far apart", large_logits),
      check("logits of any floating type", any_dtype),
      refusals(),
  };
}

}  // namespace lockstep::grader::top_k_router
