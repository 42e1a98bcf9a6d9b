// The exam of assign_slots: a plan has one right form, which the judge finds by filling one expert
// after the other. A wrong plan is told by the known mistake that gives it, or by the first place
// that differs.
#include <algorithm>
#include <limits>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/14_expert_parallel/assign_slots/case.hpp"

namespace lockstep::grader::assign_slots {

namespace {

using expert_parallel::Route;
using expert_parallel::SlotPlan;
using Question = SlotQuestion;

std::int64_t tokens_of(const Question& q) {
  return q.routes.empty() ? 0 : q.routes.back().token + 1;
}

SlotPlan right_plan(const Question& q) {
  SlotPlan plan{tokens_of(q), q.experts, tokens_of(q), {}};
  const double room =
      static_cast<double>(q.routes.size()) * q.capacity_factor / static_cast<double>(q.experts);
  plan.capacity = std::min(plan.tokens, expert_parallel::rounded_up(room));
  plan.placed = q.routes;
  std::ranges::stable_sort(plan.placed, [](const Route& a, const Route& b) {
    return std::tie(a.expert, a.choice, a.token) < std::tie(b.expert, b.choice, b.token);
  });
  std::int64_t expert = -1, slots = 0;
  std::erase_if(plan.placed, [&](const Route& route) {
    if (route.expert != expert) slots = plan.capacity;
    expert = route.expert;
    return slots-- <= 0;
  });
  return plan;
}

bool valid(const Question& q) {
  return q.experts >= 1 && q.capacity_factor > 0 &&
         std::ranges::all_of(q.routes, [&](const Route& route) {
           return route.expert >= 0 && route.expert < q.experts;
         });
}

std::string text_of(const Question& q) {
  const std::int64_t tokens = tokens_of(q);
  std::string chosen;
  constexpr std::size_t shown = 24;
  for (std::size_t i = 0; i < std::min(shown, q.routes.size()); ++i) {
    const bool next = q.routes[i].choice > 0;
    chosen += text(next ? " " : i > 0 ? ", " : "; by token: ", q.routes[i].expert);
  }
  if (q.routes.size() > shown) chosen += ", …";
  return text(counted(tokens, "token"), " with ",
              counted(tokens == 0 ? 0 : std::ssize(q.routes) / tokens, "choice"), ", ",
              counted(q.experts, "expert"), ", capacity factor ", number(q.capacity_factor),
              chosen);
}

std::string text_of(const Route& route) {
  return text("token ", route.token, "'s choice ", route.choice, " of expert ", route.expert,
              ", weight ", number(route.weight));
}

// A plan that differs: the place, in words, and the cause where no known mistake gives it.
struct Fault {
  std::string message, expected, seen;
  Cause cause;
};

Fault fault_of(const SlotPlan& seen, const SlotPlan& right) {
  if (seen.capacity != right.capacity) {
    const Cause other{"other_capacity",
                      "it is ⌈T·K/E·F⌉, where T·K is the number of routes, and at most T"};
    const Cause beyond{
        "beyond_integers",
        "T·K/E·F is beyond every std::int64_t, and not defined as one: round with rounded_up"};
    return {text("the capacity is ", seen.capacity, ", and should be ", right.capacity),
            text(right.capacity), text(seen.capacity), seen.capacity < 0 ? beyond : other};
  }
  if (seen.tokens != right.tokens || seen.experts != right.experts) {
    const auto sizes = [](const SlotPlan& plan) {
      return text(counted(plan.tokens, "token"), " and ", counted(plan.experts, "expert"));
    };
    return {text("the plan says ", sizes(seen), ", and there are ", sizes(right)),
            sizes(right),
            sizes(seen),
            {"other_sizes", "a plan has all tokens and all experts, also those without a place"}};
  }
  std::size_t at = 0;
  const auto same = [&] { return seen.placed[at] == right.placed[at]; };
  while (at < std::min(seen.placed.size(), right.placed.size()) && same()) ++at;
  const auto shown = [&](const std::vector<Route>& placed) {
    return at < placed.size() ? text_of(placed[at]) : std::string("nothing");
  };
  return {
      text("place ", at, " of the plan holds ", shown(seen.placed), ", and should hold ",
           shown(right.placed)),
      shown(right.placed),
      shown(seen.placed),
      {"other_places",
       "first choices in the order of tokens, then second ones, and so on: each takes the next "
       "slot of its expert, whose slots are counted once for all choices. One that finds none "
       "is dropped, and its token's others are not. Then list expert 0's slots, expert 1's, …"}};
}

std::optional<Failure> wrong(std::span<const Question> asked, const SlotPlan& seen) {
  const SlotPlan right = right_plan(asked.back());
  if (seen == right) return std::nullopt;
  const Fault fault = fault_of(seen, right);
  return because(fault.cause,
                 {.message = fault.message, .expected = fault.expected, .seen = fault.seen});
}

// With half of the tokens, or the first one less.
std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  const std::int64_t tokens = tokens_of(q);
  for (const std::int64_t fewer : {tokens / 2, tokens - 1}) {
    if (fewer < 1 || fewer >= tokens) continue;
    auto& routes = offered.emplace_back(q).routes;
    std::erase_if(routes, [&](const Route& route) { return route.token >= fewer; });
  }
  return offered;
}

FunctionContract<Question, SlotPlan> usual_contract() {
  return {.text_of = [](const Question& q) { return text_of(q); },
          .wrong = wrong,
          .is_right = [](const Question& q, const SlotPlan& seen) { return seen == right_plan(q); },
          .refusals = {{.valid = valid,
                        .accepts = {"accepts_nonsense",
                                    "a factor is above 0, there is an expert, and routes lead to "
                                    "experts that there are"}}},
          .smaller = smaller,
          .sizes = [](const Question& q) -> Sizes {
            return {static_cast<int>(q.experts), {tokens_of(q), std::ssize(q.routes)}};
          }};
}

// By token, its experts; weights fall from choice to choice.
Question of(std::int64_t experts, double factor,
            const std::vector<std::vector<std::int64_t>>& all) {
  Question q{{}, experts, factor};
  for (std::size_t token = 0; token < all.size(); ++token) {
    for (std::size_t choice = 0; choice < all[token].size(); ++choice) {
      q.routes.push_back({static_cast<std::int64_t>(token), all[token][choice],
                          static_cast<std::int64_t>(choice),
                          1 / static_cast<double>(2 + choice) + static_cast<double>(token) / 64});
    }
  }
  return q;
}

// Tokens whose choices are drawn: some experts are chosen more often.
Question drawn(CaseRunner& runner, std::int64_t tokens, std::int64_t experts, std::int64_t k,
               double factor) {
  std::vector<std::vector<std::int64_t>> all;
  for (std::int64_t token = 0; token < tokens; ++token) {
    auto& chosen = all.emplace_back();
    while (std::ssize(chosen) < k) {
      std::int64_t expert = runner.draw_between(0, experts - 1);
      if (runner.draw_between(0, 2) > 0) expert /= 2;
      if (std::ranges::find(chosen, expert) == chosen.end()) chosen.push_back(expert);
    }
  }
  return of(experts, factor, all);
}

// Six tokens on three experts, with capacity ⌈6·2/3·0.5⌉ = 2; eight tokens that all choose expert
// 0, and twelve with two choices, on six experts: 4 slots each.
std::vector<Question> of_the_task(CaseRunner& runner) {
  return {of(3, 0.5, {{0, 1}, {0, 1}, {0, 2}, {0, 2}, {1, 0}, {1, 2}}),
          of(4, 2, {8, std::vector<std::int64_t>{0}}), drawn(runner, 12, 6, 2, 1)};
}

std::vector<Question> drawn_factors(CaseRunner& runner) {
  std::vector<Question> all;
  for (const double factor : {0.3, 0.6, 1.0, 1.25, 1.5}) {
    for (const auto& [tokens, experts] : {std::pair{7, 3}, {16, 5}, {11, 4}}) {
      all.push_back(drawn(runner, tokens, experts, 2, factor));
    }
  }
  all.push_back(drawn(runner, 100, 2, 1, 1.1));  // 55.00000000000001, in float64
  return all;
}

std::vector<Question> any_choices(CaseRunner& runner) {
  std::vector<Question> all;
  for (const std::int64_t k : {1, 3, 4, 6}) all.push_back(drawn(runner, 17, 6, k, 0.7));
  // Weights play no part, and may be 0.
  for (const std::int64_t k : {1, 4}) {
    all.push_back(drawn(runner, 17, 6, k, 0.7));
    for (std::size_t i = 0; i < all.back().routes.size(); i += 2) all.back().routes[i].weight = 0;
  }
  return all;
}

std::vector<Question> room_for_all(CaseRunner& runner) {
  std::vector<Question> all;
  for (const double factor : {4.0, 1e300, expert_parallel::no_capacity}) {
    for (const std::int64_t k : {1, 2}) all.push_back(drawn(runner, 9, 3, k, factor));
  }
  all.push_back(of(3, 1, {}));
  all.push_back(of(5, 1e-300, {{4, 1}, {4, 0}}));
  return all;
}

std::vector<Question> every_size(CaseRunner& runner) {
  std::vector<Question> all;
  for (const int experts : every_rank_count) {
    all.push_back(drawn(runner, experts + 3, experts, std::min(experts, 2), 0.8));
  }
  for (const std::int64_t tokens : {1, 70'001, 0, 3}) {
    // A part that looks at all routes for each expert takes more than seconds.
    const std::int64_t experts = tokens > 3 ? 300'000 : 2;
    Question& q = all.emplace_back(Question{{}, experts, expert_parallel::no_capacity});
    for (std::int64_t t = 0; t < tokens; ++t) q.routes.push_back({t, experts - 1, 0, 0.5});
  }
  return all;
}

std::vector<Question> nonsense() {
  constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<std::int64_t>> chosen{{0}, {2}};
  return {of(3, 0, chosen),       of(3, -0.0, chosen),
          of(3, -1, chosen),      of(3, no_number, chosen),
          of(2, 1, chosen),       of(0, 1, {}),
          of(-1, 1, {}),          of(INT64_MIN, 1, {}),
          of(3, 1, {{0}, {-1}}),  of(3, 1, {{INT64_MIN}}),
          of(3, 1, {{INT64_MAX}})};
}

}  // namespace

Exam exam() {
  const auto contract = usual_contract();
  const auto check = [&](const std::string& name, std::vector<Question> (*questions)(CaseRunner&)) {
    return Check{name, [contract, questions](CaseRunner& runner) {
                   judge(runner, contract, "routes", questions(runner));
                 }};
  };
  auto refusing = contract;
  refusing.refusals->nonsense = nonsense();
  return {
      check("the example of the task, and plans with 4 slots of an expert", of_the_task),
      check("capacity ⌈T·K/E·F⌉, for any factor", drawn_factors),
      check("one choice of each token, three, and all experts", any_choices),
      check("room for all, no capacity, and no token", room_for_all),
      check("up to 300 experts, and 70,001 tokens of one of 300,000 experts", every_size),
      check_of_refusals(refusing, "factors, experts and routes that make no sense are refused",
                        {of(3, 1, {{0}, {2}}), of(1, 0.5, {{0}, {0}})}),
  };
}

}  // namespace lockstep::grader::assign_slots
