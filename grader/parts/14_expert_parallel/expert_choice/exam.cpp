// The exam of expert_choice: the plans of experts for logits that the judge draws. Probabilities
// are equal to the bit or clearly apart, so that rounding decides nothing.
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/exam/function/router_logits.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/14_expert_parallel/expert_choice/case.hpp"

namespace lockstep::grader::expert_choice {
namespace {

using expert_parallel::Route;
using expert_parallel::SlotPlan;
using Question = ChoiceQuestion;
using Limits = std::numeric_limits<double>;

bool valid(const Question& q) {
  return q.logits.shape.size() == 2 && q.logits.experts() >= 1 && q.capacity_factor > 0 &&
         std::isfinite(q.capacity_factor);
}

std::string text_of(const Question& q) {
  return text("capacity factor ", number(q.capacity_factor), ", ", text_of(q.logits));
}

bool same_sizes(const SlotPlan& a, const SlotPlan& b) {
  return a.tokens == b.tokens && a.experts == b.experts && a.capacity == b.capacity;
}
bool same_plan(const SlotPlan& a, const SlotPlan& b, double within) {
  return same_sizes(a, b) && !other_route(a.placed, b.placed, within);
}

// By expert, the probabilities of all tokens.
std::vector<std::vector<double>> scores_of(const RouterLogits& logits) {
  std::vector<std::vector<double>> columns(static_cast<std::size_t>(logits.experts()));
  for (std::int64_t t = 0; t < logits.tokens(); ++t) {
    std::vector<double> row;
    for (std::int64_t e = 0; e < logits.experts(); ++e) row.push_back(logits.of(t, e));
    const double most = std::ranges::max(row);
    double sum = 0;
    for (double& one : row) sum += one = std::exp(one - most);
    for (std::size_t e = 0; e < row.size(); ++e) columns[e].push_back(row[e] / sum);
  }
  return columns;
}

SlotPlan planned(const Question& q) {
  const std::int64_t tokens = q.logits.tokens(), experts = q.logits.experts();
  const double share =
      static_cast<double>(tokens) * q.capacity_factor / static_cast<double>(experts);
  SlotPlan plan{tokens, experts, std::min(tokens, expert_parallel::rounded_up(share)), {}};
  const auto scores = scores_of(q.logits);
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const auto score = [&](std::int64_t t) {
      return scores[static_cast<std::size_t>(expert)][static_cast<std::size_t>(t)];
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(tokens));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::stable_sort(order, std::greater<>(), score);
    order.resize(static_cast<std::size_t>(plan.capacity));
    for (const std::int64_t t : order) plan.placed.push_back({t, expert, 0, score(t)});
  }
  return plan;
}

Cause cause_of(const SlotPlan& seen, const SlotPlan& right) {
  if (seen.capacity < 0)
    return {"beyond_integers",
            "T·F/E is beyond every std::int64_t, and not defined as one: round with rounded_up"};
  if (same_plan(seen, right, 1e-5)) {
    return {"rounded", "only the last digits are wrong: on the way a double became a float"};
  }
  return {"other_plan",
          "for each expert, sort the tokens by falling probability, the earlier one first of equal "
          "ones (std::stable_sort keeps their order), and take the first ⌈T·F/E⌉, however many "
          "experts took a token before; a weight is the probability, and is not divided again"};
}

Failure fault_of(const SlotPlan& seen, const SlotPlan& right, double tolerance) {
  const auto sizes = [](const SlotPlan& plan) {
    return text(counted(plan.tokens, "token"), ", ", counted(plan.experts, "expert"), ", capacity ",
                plan.capacity);
  };
  if (!same_sizes(seen, right)) {
    return {.message = text("the plan has ", sizes(seen), ", and should have ", sizes(right)),
            .expected = sizes(right),
            .seen = sizes(seen)};
  }
  const std::size_t at = *other_route(seen.placed, right.placed, tolerance);
  const auto shown = [&](const Routes& placed) {
    if (at >= placed.size()) return std::string("nothing");
    const Route& one = placed[at];
    return text("token ", one.token, " for expert ", one.expert, ", choice ", one.choice,
                ", weight ", number(one.weight));
  };
  return {.message = text("place ", at, " of the plan holds ", shown(seen.placed),
                          ", and should hold ", shown(right.placed)),
          .expected = shown(right.placed),
          .seen = shown(seen.placed)};
}

std::optional<Failure> wrong(std::span<const Question> asked, const ChoiceAnswer& answer) {
  const Question& q = asked.back();
  const std::string returned = text("a plan of ", counted(std::ssize(answer.plan.placed), "place"));
  if (auto failure = wrong_ending_of_logits(q.logits, answer.ending, returned)) return failure;
  if (token_without_logit(q.logits)) return std::nullopt;
  const SlotPlan right = planned(q);
  const double tolerance = weight_tolerance(q.logits);
  if (same_plan(answer.plan, right, tolerance)) return std::nullopt;
  return because(cause_of(answer.plan, right), fault_of(answer.plan, right, tolerance));
}

std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  for (const std::int64_t tokens : {q.logits.tokens() / 2, q.logits.tokens() - 1}) {
    if (tokens < 1 || tokens >= q.logits.tokens()) continue;
    offered.push_back({first_tokens(q.logits, tokens), q.capacity_factor});
  }
  return offered;
}

FunctionContract<Question, ChoiceAnswer> contract() {
  return {.text_of = text_of,
          .wrong = wrong,
          .refusals = {{.valid = valid,
                        .accepts = {"accepts_nonsense",
                                    "logits are [tokens, experts] of one expert or more, and a "
                                    "factor is above 0 and finite"}}},
          .smaller = smaller,
          .sizes = [](const Question& q) -> Sizes {
            return {0, {q.logits.tokens(), q.logits.experts()}};
          },
          .throws = [](const Question& q) { return token_without_logit(q.logits).has_value(); },
          .situations = [](const Question&) -> std::vector<Situation> {
            return {Situation::double_digits};
          }};
}

// The logits that have these exponentials, by token.
RouterLogits of_exponentials(std::int64_t experts, std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  const auto tokens = std::ssize(values) / experts;
  return logits_of(tokens, experts, std::move(values));
}

Question example(double factor) {
  return {of_exponentials(3, {4, 1, 6, 1, 1, 1, 5, 4, 1, 1, 4, 3}), factor};
}

std::vector<Question> of_the_task(CaseRunner&) { return {example(1.5), example(0.75)}; }

std::vector<Question> any_size(CaseRunner& runner) {
  std::vector<Question> all;
  for (const auto& [tokens, experts, factor] : {std::tuple{7, 3, 1.0},
                                                {16, 5, 2.0},
                                                {11, 4, 0.3},
                                                {100, 2, 1.1},  // 55.00000000000001, in float64
                                                {6, 2, 3.0},
                                                {5, 4, 1e300},
                                                {9, 300, 1e-300},
                                                {0, 4, 1.0},
                                                {70'001, 1, 1e-3},
                                                {1, 7, 2.0}}) {
    all.push_back({drawn_logits(runner, tokens, experts), factor});
  }
  return all;
}

// Tokens with the same logits have the same probabilities, to the bit.
std::vector<Question> equal_tokens(CaseRunner&) {
  return {{many_equal_logits(40, 2), 1},
          {many_equal_logits(40, 2, 3), 1},
          {logits_of(4, 2, std::vector<double>(8, 1)), 1},
          {of_exponentials(2, {1, 3, 3, 1, 1, 3, 3, 1, 1, 3, 3, 1}), 1},
          {of_exponentials(2, {1, 3, 1, 3, 5, 1, 1, 3}), 1.5},
          {logits_of(4, 2, {0.0, -0.0, -0.0, 0.0, 0x1p-1074, 0, 0, -0x1p-1040}), 1}};
}

std::vector<Question> large_logits(CaseRunner&) {
  return {{logits_of(4, 2, {1e4, 9e3, -1e4, -9e3, 1e4, 1e4 + 1, 0, 2}), 1},
          {logits_of(3, 3, {1e4, 1e4 + 1, 1e4 + 3, -1e4, -1e4 - 2, -1e4 - 1, 1e4, -1e4, 0}), 1},
          {logits_of(3, 2, {1e308, -1e308, 710, 709, -745, -747}), 1}};
}

std::vector<Question> any_dtype(CaseRunner& runner) {
  std::vector<Question> all;
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    all.push_back({rounded_logits(drawn_logits(runner, 6, 3), dtype), 1.5});
  }
  return all;
}

Check refusals() {
  auto refusing = contract();
  const Question fine = example(1.5);
  for (const double factor : {0.0, -0.0, -1.0, Limits::quiet_NaN(), Limits::infinity()}) {
    refusing.refusals->nonsense.push_back(example(factor));
  }
  refusing.refusals->nonsense.push_back({logits_of(3, 0, {}), 1});
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{12}, {1, 4, 3}}) {
    refusing.refusals->nonsense.emplace_back(fine).logits.shape = shape;
  }
  std::vector<Question> valid{fine};
  for (const double odd : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{4}, std::size_t{11}}) {
      valid.emplace_back(fine).logits.values[at] = odd;
    }
  }
  valid.push_back(fine);
  return check_of_refusals(refusing,
                           "a logit that is no number is named; factors and shapes that make no "
                           "sense are refused",
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
      check("the example of the task: two tokens for each expert, three tokens with two experts",
            of_the_task),
      check("⌈T·F/E⌉ tokens for each expert, for any number of tokens and any factor", any_size),
      check("of equal probabilities, the earlier token comes first", equal_tokens),
      check("logits of ±10,000, near each other and far apart", large_logits),
      check("logits of any floating type", any_dtype),
      refusals(),
  };
}

}  // namespace lockstep::grader::expert_choice
