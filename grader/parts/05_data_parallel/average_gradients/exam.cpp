// The exam of average_gradients: the mean over the group, the same bits everywhere, gradients that
// are not there stay away, and the traffic of one all-reduce.
#include "grader/parts/05_data_parallel/average_gradients/case.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_terms.hpp"
#include "grader/judge/wrong_values.hpp"

namespace lockstep::grader::average_gradients {
namespace {

struct Problem {
  Members members;
  GradientPlan plan;
  std::uint64_t schedule_seed = 0;

  int size() const { return members.size(); }
  std::string description() const {
    return text(members.description(), ", ", counted(std::ssize(plan.sizes), "parameter"), " of ",
                plan.dtypes.empty() ? name_of(plan.dtype) : "several types", name_of(plan.held));
  }
};

// The ranks' shares were combined, but not added.
std::optional<Cause> another_operation(const std::vector<std::vector<double>>& shares,
                                       std::span<const double> seen) {
  struct Operation {
    const char* what;
    const char* name;
    double (*of)(double, double);
  };
  static constexpr Operation operations[]{
      {"largest", "max", [](double a, double b) { return std::max(a, b); }},
      {"smallest", "min", [](double a, double b) { return std::min(a, b); }},
      {"product", "product", [](double a, double b) { return a * b; }}};
  for (const Operation& operation : operations) {
    std::vector<double> combined = shares.front();
    for (const auto& share : std::span(shares).subspan(1)) {
      std::ranges::transform(combined, share, combined.begin(), operation.of);
    }
    if (!resembles(seen, combined)) continue;
    return Cause{"wrong_operation",
                 text("it is the ", operation.what, " of the ranks' shares: the all-reduce takes ",
                      "ReduceOp::", operation.name, ", and a mean needs ReduceOp::sum")};
  }
  return std::nullopt;
}

// The likely cause by the whole gradient: which rank's share is missing or doubled, or that only
// rounding is wrong.
std::optional<Cause> cause_of_shares(const ExpectedGradient& expected,
                                     const std::vector<std::vector<double>>& inputs,
                                     std::span<const double> seen) {
  std::vector<std::vector<double>> shares = inputs;
  WrongValues values{.seen = seen, .expected = expected.values, .tolerance = expected.tolerance};
  values.ranks = static_cast<int>(inputs.size());
  for (auto& share : shares) {
    for (double& value : share) value /= values.ranks;
  }
  if (auto operation = another_operation(shares, seen)) return operation;
  std::vector<Term> terms;
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    terms.push_back({text("rank ", r, "'s gradient"), 1.0 / values.ranks, inputs[r]});
  }
  auto cause = cause_of_terms(seen, expected.values, terms, 1e-4);
  return cause ? cause : rounding_only(values);
}

// True if the sum was multiplied by 1/N as a float has it. That is another number where N is no
// power of two, and in float64 it shows.
bool has_float_share(std::span<const double> seen, std::span<const double> mean, double n) {
  const double factor = n * static_cast<double>(static_cast<float>(1 / n));
  bool shows = false;
  for (std::size_t e = 0; e < mean.size(); ++e) {
    const double apart = std::fabs(mean[e] * (factor - 1));
    if (!(std::fabs(seen[e] - mean[e] * factor) <= apart / 100)) return false;
    shows = shows || apart > 0;
  }
  return shows;
}

Cause likely_cause(int ranks, std::span<const double> seen, std::span<const double> mean,
                   std::span<const double> own) {
  const double n = ranks;
  if (!all_finite(seen)) {
    return {"no_number",
            "this value is not finite: a division by zero, or a read of uninitialised memory"};
  }
  const auto is_scaled = [&](std::span<const double> of, double factor) {
    std::vector<double> scaled(of.begin(), of.end());
    for (double& value : scaled) value *= factor;
    return resembles(seen, scaled);
  };
  if (ranks > 1 && std::all_of(seen.begin(), seen.end(), [](double v) { return v == 0; })) {
    return {
        "zero",
        "every element is 0: 1 / group.size() is an integer division; write 1.0 / group.size()"};
  }
  if (seen.size() == mean.size() && has_float_share(seen, mean, n)) {
    return {"float_share",
            text("1/", ranks, " was computed as a float; write 1.0 / group.size(), and keep it in ",
                 "a double")};
  }
  if (resembles(seen, mean)) {
    return {"rounded",
            "only the last digits are wrong: a gradient or the sum was rounded to a smaller type"};
  }
  if (ranks > 2 && is_scaled(mean, n / (n - 1))) {
    return {"wrong_divisor",
            text("the sum was divided by ", ranks - 1, ", but the group has ", ranks, " ranks")};
  }
  if (is_scaled(mean, n)) {
    return {"summed_not_averaged", text("it is ", ranks, " times too large: summed, not averaged")};
  }
  if (is_scaled(mean, 1 / n)) {
    return {"divided_twice", text("it is ", ranks, " times too small: divided twice")};
  }
  if (std::equal(seen.begin(), seen.end(), own.begin(), own.end())) {
    return {"not_averaged", "the value is this rank's own gradient: this parameter was left out"};
  }
  if (is_scaled(own, 1 / n)) {
    return {
        "divided_only",
        "the value is this rank's own gradient divided by N: no other rank's gradient was added"};
  }
  for (const double factor : {1.0 / 8, 1.0 / 16, 1.0 / 32, 1.0 / 64}) {
    if (is_scaled(mean, factor * n) || is_scaled(mean, factor)) {
      return {"wrong_divisor", "the divisor is not the number of ranks in the group"};
    }
  }
  return {"other_values",
          "the wrong tensors were added, or the ranks visited the parameters in different orders"};
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<GradientReports>& of_ranks) {
  for (std::size_t i = 0; i < p.plan.sizes.size(); ++i) {
    std::vector<std::vector<double>> inputs;
    for (int rank = 0; rank < p.size(); ++rank) {
      inputs.push_back(drawn_gradient(p.plan, salt, rank, i));
    }
    ExpectedGradient expected;
    expected.name = text("the mean over ", counted(p.size(), "rank"));
    for (std::size_t e = 0; e < inputs.front().size(); ++e) {
      double mean = 0, magnitude = 0;
      for (const auto& input : inputs) {
        mean += input[e] / p.size();
        magnitude += std::fabs(input[e]) / p.size();
      }
      expected.values.push_back(mean);
      // 1/N is rounded once, each product once, and N-1 additions in any order: (N+2)·eps·Σ|g|/N.
      expected.tolerance.push_back((p.size() + 2) * epsilon_of(p.plan.dtype_of(i)) * magnitude);
    }
    expected.likely_cause = [&](std::span<const double> seen, int rank) {
      auto cause =
          likely_cause(p.size(), seen, expected.values, inputs[static_cast<std::size_t>(rank)]);
      if (cause.name != "other_values") return cause;
      return cause_of_shares(expected, inputs, seen).value_or(std::move(cause));
    };
    check_gradient(runner, played, p.plan, i, of_ranks, expected);
  }
}

// The members as a world of their own.
void whole_world_of_members(const Problem& p, std::vector<Problem>& offered) {
  if (p.size() < p.members.world) offered.emplace_back(p).members = whole_world(p.size());
}

void fewer_parameters(const Problem& p, std::vector<Problem>& offered) {
  if (p.plan.sizes.size() < 2) return;
  for (std::size_t i = 0; i < p.plan.sizes.size(); ++i) {
    Problem& one = offered.emplace_back(p);
    one.plan.sizes = {p.plan.sizes[i]};
    one.plan.has_grad = {p.plan.has_grad[i]};
    one.plan.dtype = p.plan.dtype_of(i);
    one.plan.dtypes.clear();
  }
  Problem& fewer = offered.emplace_back(p);
  fewer.plan.sizes.pop_back();
  fewer.plan.has_grad.pop_back();
  if (!fewer.plan.dtypes.empty()) fewer.plan.dtypes.pop_back();
}

void fewer_elements(const Problem& p, std::vector<Problem>& offered) {
  for (std::size_t i = 0; i < p.plan.sizes.size(); ++i) {
    if (p.plan.sizes[i] > 1) offered.emplace_back(p).plan.sizes[i] /= 2;
  }
}

const RanksContract<Problem, GradientCase, GradientReports> contract{
    .case_of = [](const Problem& p, std::uint64_t salt,
                  int rank) { return GradientCase{.mine = drawn_gradients(p.plan, salt, rank)}; },
    .compare = compare,
    .ask_of = [](const Problem&, std::uint64_t, int, const GradientCase& c,
                 Situations& asked) { grader::ask_of(c.mine, asked); },
    .smaller = smaller_by(whole_world_of_members, fewer_ranks, fewer_parameters, fewer_elements)};

void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  check_one_reduction(runner, played, p.plan, p.size());
  runner.note_par("bytes", busiest_rank_bytes(played.counters),
                  ring_bytes(p.plan.bytes(), p.size()), played);
  const std::int64_t gradients =
      std::count(p.plan.has_grad.begin(), p.plan.has_grad.end(), std::uint8_t{1});
  check_operations(runner, played,
                   {.collectives = gradients,
                    .allowed = text("one all-reduce for each of ", gradients, " gradients")});
}

const RanksChecks checks(contract, [](Problem& p) {
  p.plan = {DType::float32, {35, 12, 1, 64, 72, 13}, {1, 1, 1, 1, 1, 1}};
});

void side_by_side(Problem& p) {
  p.plan.dtypes = {DType::float32, DType::bfloat16, DType::float64,
                   DType::float32, DType::float16,  DType::bfloat16};
}

void without_gradients(CaseRunner& runner) {
  Problem p = checks.usual(runner, 4);
  p.plan.sizes = {5, 3, 0, 8};
  p.plan.has_grad = {1, 0, 1, 1};
  checks.ask(runner, p);
  p.plan.has_grad = {0, 0, 0, 0};
  checks.ask(runner, p);
}

void three_parameters(Problem& p) {
  p.plan = {p.size() == 4 ? DType::bfloat16 : DType::float32, {400, 130, 50}, {1, 1, 1}};
}

// One rank, one element, and so many that messages could be cut in pieces.
void price_at_the_extremes(CaseRunner& runner) {
  for (const auto& [ranks, elements] : {std::pair(1, 50), {2, 1}, {3, 70'000}}) {
    checks.ask(runner, {whole_world(ranks), {DType::float32, {elements}, {1}}, runner.draw()},
               check_cost, {Situation::price_at_the_extremes});
  }
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks every gradient is the mean over the ranks, with the same bits on "
       "all",
       checks.every_size()},
      {"float64, bfloat16 and float16 gradients are averaged and keep their type, also side by "
       "side",
       in_turn(checks.types({std::begin(every_gradient_dtype), std::end(every_gradient_dtype)}),
               checks.on({3}, side_by_side))},
      {"a parameter without a gradient stays without one; an empty parameter does no harm",
       without_gradients},
      {"NaN and infinity on one rank arrive on all; zeros are gradients, too", checks.odd_values()},
      {"the mean over a subgroup divides by the subgroup's size", checks.twice_in_a_subgroup()},
      // Among real processes no rank is killed.
      of_fault("when a peer is lost, a rank throws CommError and leaves no mean over the remaining "
               "ranks",
               checks.lose_peers(4, 14,
                                 [](Problem& p) {
                                   p.plan = {DType::float32, {35, 64, 13}, {1, 1, 1}};
                                 })),
      of_cost("the traffic is one all-reduce of the gradients and nothing else",
              in_turn(checks.on({2, 4, 8}, three_parameters, check_cost), price_at_the_extremes)),
  };
}

}  // namespace lockstep::grader::average_gradients
