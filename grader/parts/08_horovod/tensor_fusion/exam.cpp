// The exam of tensor_fusion: lists at the edges of the rule, and random lists, whose plans the
// judge works out with a flag for each gradient. A wrong plan is told by the first group that
// differs.
#include <algorithm>
#include <limits>

#include "engine/collectives/bucket.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/08_horovod/tensor_fusion/case.hpp"

namespace lockstep::grader::tensor_fusion {
namespace {

using horovod::FusionPlan;
using horovod::Ready;

std::int64_t bytes_of_ready(const Ready& ready) {
  return ready.count * static_cast<std::int64_t>(bytes_of(ready.dtype));
}

FusionPlan right_plan(const FusionQuestion& question) {
  const auto& [list, threshold] = question;
  std::vector<std::uint8_t> is_grouped(list.size());
  FusionPlan plan;
  for (std::size_t first = 0; first < list.size(); ++first) {
    if (is_grouped[first]) continue;
    auto& group = plan.groups.emplace_back();
    std::int64_t bytes = 0, passed_bytes = 0;
    for (std::size_t i = first; i < list.size(); ++i) {
      if (is_grouped[i]) continue;
      const std::int64_t more = bytes_of_ready(list[i]);
      const bool fits = list[i].dtype == list[first].dtype && bytes + more <= threshold;
      if (i == first || (fits && threshold > 0)) {
        group.push_back(i);
        is_grouped[i] = 1;
        bytes += more;
      } else if (passed_bytes += more; threshold == 0 || bytes + passed_bytes > threshold) {
        break;
      }
    }
  }
  return plan;
}

std::string shown_plan(const FusionPlan& plan) {
  return text_of(collectives::BucketPlan{plan.groups});
}

std::string text_of_question(const FusionQuestion& question) {
  constexpr std::size_t shown = 40;  // twice the longest list that is drawn
  std::string list;
  for (std::size_t i = 0; i < std::min(shown, question.in_order.size()); ++i) {
    const Ready& ready = question.in_order[i];
    list += text(i > 0 ? ", " : "", ready.count, " ", name_of(ready.dtype));
  }
  if (question.in_order.size() > shown) {
    list += text(", and ", question.in_order.size() - shown, " more that are not shown");
  }
  return text("[", list, "], a threshold of ", grouped(question.threshold_bytes), " bytes");
}

// Every gradient in exactly one group, and no group without any.
std::optional<Failure> broken(const FusionQuestion& question, const FusionPlan& seen) {
  std::vector<int> times(question.in_order.size());
  for (std::size_t g = 0; g < seen.groups.size(); ++g) {
    if (seen.groups[g].empty()) {
      return because({"empty_group",
                      "a group is opened when the one before is complete; open it when its first "
                      "gradient comes"},
                     {.message = text("group ", g, " of the plan has no gradient")});
    }
    for (const std::size_t i : seen.groups[g]) {
      if (i < times.size()) {
        ++times[i];
        continue;
      }
      return because(
          {"no_gradient", "a plan holds places in the list, counted from 0"},
          {.message = text("group ", g, " holds gradient ", i, ", but there are ", times.size())});
    }
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 1) continue;
    Cause cause{"twice",
                "a gradient that was passed over is still waiting; one that joined is not"};
    if (times[i] == 0) {
      cause = {"lost", "it would never be reduced; what was passed over is grouped next"};
    }
    return because(
        cause, {.message = text("gradient ", i,
                                times[i] == 0 ? " is in no group" : " is in more than one place")});
  }
  return std::nullopt;
}

// The first group that differs, in words.
std::string difference_of(const FusionPlan& seen, const FusionPlan& right) {
  std::size_t g = 0;
  while (g < seen.groups.size() && g < right.groups.size() && seen.groups[g] == right.groups[g]) {
    ++g;
  }
  const auto held = [&](const FusionPlan& plan, std::string_view holds, std::string_view is_none) {
    return g < plan.groups.size() ? text(holds, listed(plan.groups[g])) : std::string(is_none);
  };
  return text("group ", g, " of your plan ", held(seen, "holds ", "does not exist"), "; it should ",
              held(right, "hold ", "not exist"));
}

// The sums where the first wrong group leaves the right one: "before gradient 5, the group holds 80
// bytes and has passed over 96, of 120".
std::string sums_at_difference(const FusionQuestion& question, const FusionPlan& seen,
                               const FusionPlan& right) {
  std::size_t g = 0;
  while (g < seen.groups.size() && g < right.groups.size() && seen.groups[g] == right.groups[g]) {
    ++g;
  }
  if (g == seen.groups.size() || g == right.groups.size()) return "";
  const auto &wrong = seen.groups[g], &group = right.groups[g];
  std::size_t k = 0;
  while (k < wrong.size() && k < group.size() && wrong[k] == group[k]) ++k;
  if (k == 0) return text("group ", g, " begins with gradient ", group.front());
  constexpr auto none = std::numeric_limits<std::size_t>::max();
  const std::size_t at =
      std::min(k < wrong.size() ? wrong[k] : none, k < group.size() ? group[k] : none);
  std::vector<std::uint8_t> is_grouped(question.in_order.size());
  for (std::size_t earlier = 0; earlier < g; ++earlier) {
    for (const std::size_t i : right.groups[earlier]) is_grouped[i] = 1;
  }
  std::int64_t bytes = 0, passed_bytes = 0;
  for (std::size_t i = group.front(); i < at; ++i) {
    if (is_grouped[i]) continue;
    const bool is_member = std::ranges::find(group, i) != group.end();
    (is_member ? bytes : passed_bytes) += bytes_of_ready(question.in_order[i]);
  }
  return text("when gradient ", at, " comes, with ", grouped(bytes_of_ready(question.in_order[at])),
              " bytes of ", name_of(question.in_order[at].dtype), ", group ", g, " holds ",
              grouped(bytes), " bytes and has passed over ", grouped(passed_bytes), ", of ",
              grouped(question.threshold_bytes));
}

std::optional<Failure> wrong_plan(std::span<const FusionQuestion> asked, const FusionPlan& seen) {
  const FusionPlan right = right_plan(asked.back());
  if (seen == right) return std::nullopt;
  std::optional<Failure> failure = broken(asked.back(), seen);
  if (!failure) {
    const std::string sums = sums_at_difference(asked.back(), seen, right);
    const Cause unknown{"other_plan", sums.empty()
                                          ? "follow the list by hand, one gradient at a time"
                                          : text("follow the list by hand: ", sums)};
    failure = because(unknown, Failure{.message = difference_of(seen, right)});
  }
  failure->expected = shown_plan(right);
  failure->seen = shown_plan(seen);
  return failure;
}

// With half of the gradients, and without one of them.
std::vector<FusionQuestion> smaller_questions(const FusionQuestion& question) {
  std::vector<FusionQuestion> offered;
  const std::size_t all = question.in_order.size();
  for (const std::size_t from : {std::size_t{0}, all / 2}) {
    if (all <= 2) break;
    FusionQuestion& half = offered.emplace_back(question);
    const auto first = question.in_order.begin() + static_cast<std::ptrdiff_t>(from);
    half.in_order.assign(first, first + static_cast<std::ptrdiff_t>(all / 2));
  }
  for (std::size_t i = 0; i < all && all > 1; ++i) {
    auto& fewer = offered.emplace_back(question).in_order;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return offered;
}

const FunctionContract<FusionQuestion, FusionPlan> contract{
    .text_of = text_of_question,
    .wrong = wrong_plan,
    .is_right = [](const FusionQuestion& question,
                   const FusionPlan& seen) { return seen == right_plan(question); },
    .smaller = smaller_questions,
    .sizes =
        [](const FusionQuestion& question) {
          Sizes sizes{std::ssize(question.in_order)};
          for (const Ready& ready : question.in_order) sizes.counts.push_back(ready.count);
          return sizes;
        }};

std::vector<Ready> floats(const std::vector<std::int64_t>& counts) {
  std::vector<Ready> list;
  for (const std::int64_t count : counts) list.push_back({count, DType::float32});
  return list;
}

// Gradients of the first `dtypes` of a list.
std::vector<FusionQuestion> random_lists(CaseRunner& runner, int how_many, int dtypes) {
  constexpr DType of[] = {DType::float32, DType::bfloat16, DType::float64, DType::float16};
  std::vector<FusionQuestion> questions;
  for (int k = 0; k < how_many; ++k) {
    FusionQuestion& question = questions.emplace_back();
    for (std::int64_t left = runner.draw_between(3, 20); left > 0; --left) {
      const auto dtype = of[runner.draw_between(0, dtypes - 1)];
      question.in_order.push_back({runner.draw_between(1, 60), dtype});
    }
    // Groups are exactly full now and then: in float32, all of it is a multiple of 4.
    question.threshold_bytes = 4 * runner.draw_between(20, 160);
  }
  return questions;
}

// A search that ends one gradient late is right here, and one that never ends is not.
void ask_how_far(CaseRunner& runner, const std::vector<Ready>& passed) {
  std::vector<Ready> list{{10, DType::float32}, {2, DType::float32}};
  list.insert(list.begin() + 1, passed.begin(), passed.end());
  ask(runner, contract, "one gradient too far is not far enough", {{list, 100}});
}

std::vector<FusionQuestion> of_one_dtype(CaseRunner& runner) {
  std::vector<FusionQuestion> questions{
      {floats({10, 7, 10, 8, 50, 5, 40}), 100}};  // the header's, and one
  for (auto& more : random_lists(runner, 24, 1)) questions.push_back(std::move(more));
  return questions;
}

std::vector<FusionQuestion> around_the_threshold() {
  return {{floats({10, 10, 1}), 80},  {floats({10, 10, 1}), 84},
          {floats({10, 10, 1}), 79},  {floats({10, 11, 5}), 80},
          {floats({30, 1, 1}), 80},   {floats({1, 30, 1}), 80},
          {floats({1, 1, 30}), 80},   {floats({20, 20, 20}), 80},
          {floats({21, 21, 21}), 80}, {floats({12, 10, 2}), 80},
          {floats({5}), 1},           {floats({1, 1, 1, 1, 1, 1, 1, 1}), 1 << 20}};
}

std::vector<FusionQuestion> alternating() {
  const Ready small{10, DType::float32}, wide{10, DType::float64}, half{10, DType::bfloat16};
  // The first ones tell apart how far a search can go too far.
  const Ready short_half{20, DType::bfloat16}, nearly{32, DType::float32},
      third{20, DType::float32};
  std::vector<FusionQuestion> questions{{{small, {200, DType::float64}, small}, 160},
                                        {{short_half, nearly, short_half}, 160},
                                        {{short_half, third, third, short_half}, 160}};
  for (const std::int64_t threshold : {240, 160, 120, 119, 80, 40, 1000}) {
    questions.push_back({{small, wide, small, wide}, threshold});
    questions.push_back({{half, small, half, wide, half, small}, threshold});
    questions.push_back({{wide, half, half, half, wide, small, small}, threshold});
  }
  return questions;
}

std::vector<FusionQuestion> of_several_dtypes(CaseRunner& runner) {
  std::vector<FusionQuestion> questions = alternating();
  for (const int dtypes : {2, 3, 4}) {
    for (auto& more : random_lists(runner, 12, dtypes)) questions.push_back(std::move(more));
  }
  return questions;
}

std::vector<FusionQuestion> disabled() {
  return {{floats({3, 4, 5}), 0},
          {floats({0, 0, 0}), 0},
          {floats({0, 5, 0}), 0},
          {{{4, DType::float32}, {0, DType::float64}, {0, DType::float32}}, 0},
          {floats({7}), 0}};
}

std::vector<FusionQuestion> nothing_in_it() {
  return {
      {{}, 100},
      {{}, 0},
      {floats({0}), 100},
      {floats({0, 0, 0}), 100},
      {floats({0, 25, 0, 1, 0}), 100},
      {floats({26, 0, 0, 1}), 100},
      {{{0, DType::float32}, {5, DType::float64}, {0, DType::float32}, {3, DType::float32}}, 40},
      {{{5, DType::float64}, {0, DType::float32}, {0, DType::float64}, {1, DType::float64}}, 40}};
}

std::vector<FusionQuestion> beyond_32_bits() {
  constexpr std::int64_t billion = 1'000'000'000;
  return {{floats({billion, billion, billion}), 9 * billion},
          {floats({billion / 2, billion / 2, billion, 7}), 4 * billion},
          {floats({3 * billion, 3 * billion, 5}), std::int64_t{128} << 20},
          {{{billion, DType::bfloat16},
            {billion, DType::float64},
            {billion, DType::bfloat16},
            {9, DType::float64}},
           10 * billion}};
}

// Lists of every length, and each count of elements; the largest threshold that there is.
std::vector<FusionQuestion> every_size() {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  std::vector<FusionQuestion> questions{{floats({10, 20, 5}), never}};
  for (const int length : every_rank_count) {
    const auto counts = every_count(length, 0);
    FusionQuestion& question = questions.emplace_back();
    for (int i = 0; i < length; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) % (counts.size() - 2);
      const auto dtype = all_dtypes[static_cast<std::size_t>(i / 3) % all_dtypes.size()];
      question.in_order.push_back({counts[at], dtype});
    }
    question.threshold_bytes = 64 * length;
    questions.push_back({floats(counts), 4 << 16});
  }
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"gradients of one type fill groups up to the threshold, in their order",
       [](CaseRunner& runner) {
         ask_how_far(runner, floats({50, 50}));
         judge(runner, contract, "one type", of_one_dtype(runner));
       }},
      {"a group can be exactly full, and a gradient larger than the threshold is alone",
       [](CaseRunner& runner) {
         judge(runner, contract, "around the threshold", around_the_threshold());
       }},
      {"a group passes over gradients of other types, as far as the threshold goes",
       [](CaseRunner& runner) {
         ask_how_far(runner, {{25, DType::float64}, {3, DType::float64}});
         judge(runner, contract, "several types", of_several_dtypes(runner));
       }},
      {"a threshold of 0 leaves every gradient alone",
       [](CaseRunner& runner) { judge(runner, contract, "disabled", disabled()); }},
      {"no gradients, and gradients without elements",
       [](CaseRunner& runner) { judge(runner, contract, "nothing in it", nothing_in_it()); }},
      {"counts and bytes beyond 32 bits",
       [](CaseRunner& runner) {
         judge(runner, contract, "large", beyond_32_bits());
         judge(runner, contract, "every size", every_size());
       }},
  };
}

}  // namespace lockstep::grader::tensor_fusion
