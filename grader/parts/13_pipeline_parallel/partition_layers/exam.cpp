// The exam of partition_layers: any cut whose largest stage is as small as possible (cuts.hpp).
#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/13_pipeline_parallel/partition_layers/cuts.hpp"

namespace lockstep::grader::partition_layers {
namespace {

std::string listed_costs(const Question& q) {
  constexpr std::size_t shown = 12;
  std::string list;
  for (std::size_t i = 0; i < std::min(shown, q.cost.size()); ++i) {
    list += text(i > 0 ? ", " : "", number(q.cost[i]));
  }
  return q.cost.size() > shown ? text("[", list, ", … (", q.cost.size(), " layers)]")
                               : text("[", list, "]");
}

std::string text_of(const Question& q) {
  return text("layers of ", listed_costs(q), " in ", q.stages,
              q.stages == 1 ? " stage" : " stages");
}

// "[1, 2, 3] | [4, 5]"
std::string drawn(const Question& q, const Boundaries& cut) {
  std::string out;
  for (std::size_t s = 0; s + 1 < cut.size(); ++s) {
    Question stage;
    stage.cost.assign(q.cost.begin() + cut[s], q.cost.begin() + cut[s + 1]);
    out += text(s > 0 ? " | " : "", listed_costs(stage), " = ", number(cost_of_stage(q, cut, s)));
  }
  return out;
}

bool valid(const Question& q) {
  const auto fine = [](double cost) { return std::isfinite(cost) && cost >= 0; };
  return q.stages >= 1 && std::cmp_less_equal(q.stages, q.cost.size()) &&
         std::ranges::all_of(q.cost, fine);
}

std::optional<Failure> no_cut(const Question& q, const Boundaries& seen) {
  const int layers = static_cast<int>(q.cost.size());
  const auto wrong = [&](const Cause& cause, const std::string& message) {
    return because(cause, {.message = message, .seen = listed(seen)});
  };
  if (!std::cmp_equal(seen.size(), q.stages + 1)) {
    Cause cause{"other_length", "stage s begins at boundary s and ends before boundary s+1"};
    if (std::cmp_equal(seen.size(), q.stages)) {
      cause = std::accumulate(seen.begin(), seen.end(), std::int64_t{0}) == layers
                  ? Cause{"sizes",
                          "these are the numbers of layers; the contract asks for "
                          "boundaries, from 0 to the number of layers"}
                  : Cause{"one_end", "the list must hold both ends: 0 and the number of layers"};
    }
    return wrong(cause, text(seen.size() == 1 ? "there is 1 boundary"
                                              : text("there are ", seen.size(), " boundaries"),
                             " for ", counted(q.stages, "stage"), "; it takes ", q.stages + 1));
  }
  if (seen.front() != 0 || seen.back() != layers) {
    return wrong({"wrong_ends",
                  "the first stage begins at layer 0, and the last one ends with "
                  "the last layer"},
                 text("the boundaries go from ", seen.front(), " to ", seen.back(),
                      ", not from 0 to ", layers));
  }
  for (std::size_t s = 0; s + 1 < seen.size(); ++s) {
    if (seen[s] < seen[s + 1]) continue;
    if (seen[s] > seen[s + 1]) {
      return wrong({"not_ascending", "stages are contiguous and in order"},
                   text("stage ", s, " begins at ", seen[s], " and ends before ", seen[s + 1]));
    }
    return wrong({"empty_stage",
                  "a stage without layers would only pass messages on; leave a "
                  "layer for each stage that follows"},
                 text("stage ", s, " has no layer"));
  }
  return std::nullopt;
}

// True if all sums of these costs are exact in double, in any order of additions.
bool has_exact_sums(const Question& q) {
  const auto whole = [](double cost) { return cost == std::floor(cost); };
  return std::ranges::all_of(q.cost, whole) &&
         std::accumulate(q.cost.begin(), q.cost.end(), 0.0) < 0x1p53;
}

// By how much two sums of the same costs may differ, since a stage's can be the difference of two
// sums that run through all layers.
double rounding_of(const Question& q) {
  return 4e-16 * static_cast<double>(q.cost.size()) * q.stages;
}

std::optional<Failure> wrong(std::span<const Question> asked, const Boundaries& seen) {
  const Question& q = asked.back();
  if (auto failure = no_cut(q, seen)) return failure;
  const Boundaries best = best_cut(q);
  const double most = maximum_of(q, seen), least = maximum_of(q, best);
  const double rounding = has_exact_sums(q) ? 0 : rounding_of(q);
  if (most <= least * (1 + rounding)) return std::nullopt;
  return because(likely_cause(q, seen),
                 {.message = text("the slowest stage, stage ", slowest(q, seen), ", costs ",
                                  number(most), ", but ", number(least), " is possible"),
                  .expected = text("a largest cost of ", number(least)),
                  .seen = text(listed(seen), ": ", drawn(q, seen))});
}

// Without one of the layers, and with one stage less.
std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  if (q.stages > 1) offered.push_back({q.cost, q.stages - 1});
  for (std::size_t i = 0; i < q.cost.size() && std::cmp_less(q.stages, q.cost.size()); ++i) {
    Question& less = offered.emplace_back(q);
    less.cost.erase(less.cost.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return offered;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

const FunctionContract<Question, Boundaries> contract{
    .text_of = text_of,
    .wrong = wrong,
    .refusals = {{.valid = valid,
                  .accepts = {"accepts_nonsense",
                              "every stage needs a layer, and a cost is finite and not negative"},
                  .nonsense = {{{1, 2}, 3},
                               {{}, 1},
                               {{1, 2}, 0},
                               {{1, 2}, -1},
                               {{1, 2}, INT_MAX},
                               {{1, 2}, INT_MIN},
                               {{1, -2, 3}, 2},
                               {{1, nan, 3}, 2},
                               {{1, 2, infinity}, 2}}}},
    .smaller = smaller,
    .sizes = [](const Question& q) -> Sizes {
      return {q.stages, {std::ssize(q.cost)}};
    },
    .least_count = 1,
    .situations =
        [](const Question& q) {
          return valid(q) && rounding_of(q) <= 1e-12 ? std::vector{Situation::double_digits}
                                                     : std::vector<Situation>{};
        }};

double drawn_cost(CaseRunner& runner) {
  return static_cast<double>(runner.draw_between(1, 400)) / 100;
}

std::vector<Question> drawn_lists(CaseRunner& runner) {
  std::vector<Question> questions;
  for (int k = 0; k < 80; ++k) {
    const int stages = 1 + k % 8;
    Question& q = questions.emplace_back();
    q.stages = stages;
    q.cost.resize(static_cast<std::size_t>(runner.draw_between(stages, 4 * stages + 3)));
    for (double& cost : q.cost) cost = drawn_cost(runner);
  }
  return questions;
}

// The same in another unit: picoseconds, or single operations.
std::vector<Question> in_unit(std::vector<Question> questions, double unit) {
  for (Question& q : questions) {
    for (double& cost : q.cost) cost *= unit;
  }
  return questions;
}

// Costs that are nearly equal: cuts into equal counts differ in the sixth digit.
std::vector<Question> nearly_equal(CaseRunner& runner) {
  std::vector<Question> questions;
  for (const int stages : {2, 3, 5, 8}) {
    Question& q = questions.emplace_back();
    q.stages = stages;
    q.cost.resize(static_cast<std::size_t>(3 * stages + 1));
    for (double& cost : q.cost) cost = 1000 + drawn_cost(runner) / 100;
  }
  return questions;
}

// Whole numbers that are nearly equal: cuts differ in the twelfth digit, and their sums are exact.
std::vector<Question> nearly_equal_whole(CaseRunner& runner) {
  std::vector<Question> questions;
  for (const int stages : {2, 3, 4, 5, 8}) {
    Question& q = questions.emplace_back();
    q.stages = stages;
    q.cost.resize(static_cast<std::size_t>(3 * stages + 1));
    for (double& cost : q.cost) cost = 0x1p44 + static_cast<double>(runner.draw_between(0, 99));
  }
  return questions;
}

// Many light layers that cost together as much as each heavy one: the best stages differ much in
// their counts, so a search near the equal counts does not find them.
Question light_and_heavy(CaseRunner& runner, int stages, int light) {
  Question q{{}, stages};
  const double heavy = 10 + drawn_cost(runner);
  q.cost.assign(static_cast<std::size_t>(light), heavy / light);
  q.cost.insert(q.cost.begin() + (stages % 2 == 0 ? light : 0),
                static_cast<std::size_t>(stages - 1), heavy);
  return q;
}

// Equal layers, and one at either end that costs as much as several.
std::vector<Question> heavy_ends(CaseRunner& runner) {
  std::vector<Question> questions;
  for (const int stages : {2, 3, 4, 5, 7, 8}) {
    for (const int layers : {stages, 2 * stages, 3 * stages + 1}) {
      Question& last = questions.emplace_back();
      last.stages = stages;
      last.cost.assign(static_cast<std::size_t>(layers), 1.0);
      last.cost.back() = 1 + drawn_cost(runner);
      Question first = last;
      std::ranges::reverse(first.cost);
      questions.push_back(std::move(first));
    }
    questions.push_back(light_and_heavy(runner, stages, 8 * stages));
  }
  return questions;
}

std::vector<Question> thin_lists() {
  return {{{5}, 1},
          {{1, 2, 3}, 3},
          {{100, 1, 1, 1}, 4},
          {{100, 1, 1, 1}, 3},
          {{1, 1, 1, 100}, 3},
          {{1, 100, 1, 1, 1}, 4},
          {{0, 0, 0, 0, 0}, 3},
          {{0, 0, 7, 0, 0}, 4},
          {{7, 0, 0}, 3},
          {{0, 0, 7}, 3},
          {{-0.0, 3, 1}, 2},
          {{3 * 0x1p-1070, 0x1p-1070, 0x1p-1070, 0x1p-1070}, 2},
          {{1, 1, 1, 1, 1, 1, 1, 1}, 7}};
}

Question long_list(CaseRunner& runner, int layers, int stages) {
  Question q;
  q.stages = stages;
  for (int i = 0; i < layers; ++i) q.cost.push_back(drawn_cost(runner));
  return q;
}

// As many layers as stages, a few more, and three times as many.
std::vector<Question> every_size(CaseRunner& runner) {
  std::vector<Question> questions;
  for (const int stages : every_rank_count) {
    for (const int layers : {stages, stages + 7, 3 * stages, 3 * stages + 2}) {
      if (layers <= 310) questions.push_back(long_list(runner, layers, stages));
    }
  }
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"short lists, where one cut is best",
       [](CaseRunner& runner) {
         ask(runner, contract, "short lists",
             {{{1, 2, 3, 4, 5, 6}, 2},
              {{0, 1, 2, 3, 3, 3}, 4},
              {{0, 1.1, 1.9, 3, 30}, 2},
              {{0, 1.1, 30, 3}, 3},
              {{4e15, 0, 0, 1, 4e15 - 1}, 2},  // sums below 2^53; the best cut is better by 1
              {{1, 1, 1, 1, 1, 1, 1, 1}, 4},
              {{3, 4, 5}, 1}});
       }},
      {"no cut of a drawn list has a faster slowest stage",
       [](CaseRunner& runner) {
         judge(runner, contract, "drawn lists", drawn_lists(runner));
         judge(runner, contract, "nearly equal costs", nearly_equal(runner));
         judge(runner, contract, "whole costs that are nearly equal", nearly_equal_whole(runner));
         judge(runner, contract, "tiny costs", in_unit(drawn_lists(runner), 1e-13));
         judge(runner, contract, "huge costs", in_unit(drawn_lists(runner), 1e14));
       }},
      {"a heavy first or last layer has a stage that fits it",
       [](CaseRunner& runner) { judge(runner, contract, "heavy ends", heavy_ends(runner)); }},
      {"every stage has a layer, even where one layer costs more than all others",
       [](CaseRunner& runner) { judge(runner, contract, "thin lists", thin_lists()); }},
      {"three hundred layers in sixteen stages, and each number of stages up to three hundred",
       [](CaseRunner& runner) {
         judge(runner, contract, "long lists",
               {long_list(runner, 300, 16), long_list(runner, 257, 2)});
         judge(runner, contract, "every size", every_size(runner));
       }},
      check_of_refusals(
          contract,
          "fewer layers than stages, no stage, and negative or infinite costs are refused",
          {{{1, 2}, 2}}),
  };
}

}  // namespace lockstep::grader::partition_layers
