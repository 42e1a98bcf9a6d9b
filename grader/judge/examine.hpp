// CaseRunner::examine: how a failing case is made smaller. Included by case_runner.hpp alone.
#pragma once

#include "engine/base/error.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader {

// How many smaller cases are tried for one that fails. A count and no clock, so that the same seed
// gives the same report on every machine.
inline constexpr int variants_max = 48;

// A hang outside of the lab's operations costs seconds, and a stub has nothing to make smaller.
inline bool worth_variants(const Failure& failure) {
  return failure.verdict != Verdict::time && failure.verdict != Verdict::unsolved;
}

template <typename Problem>
Problem variant_of(Problem problem, const std::vector<int>& way,
                   const std::function<std::vector<Problem>(const Problem&)>& smaller) {
  for (const int step : way) {
    std::vector<Problem> offered = smaller(problem);
    if (std::cmp_greater_equal(step, offered.size())) {
      throw UsageError(text("--case: there is no variant ", step, " at that place"));
    }
    problem = std::move(offered[static_cast<std::size_t>(step)]);
  }
  return problem;
}

template <typename Problem>
void CaseRunner::examine(const Problem& problem, const std::function<void(const Problem&)>& judge,
                         const std::function<std::vector<Problem>(const Problem&)>& smaller) {
  const Place start = place();
  if (options_.only_case) {
    way_ = way_asked_for();
    return judge(variant_of(problem, way_, smaller));
  }
  std::optional<Failure> failure = failure_of([&] { judge(problem); });
  if (!failure) return;
  const Place after = place();
  Failure best = *failure;
  const auto fails_alike = [&](const Problem& variant, const std::vector<int>& way) {
    auto found = failure_of_variant(start, way, [&] { judge(variant); });
    // The terms of a sum are found where it is one: in a case of one step, for example.
    const bool says_more =
        found && found->cause == "term_weight" && best.cause.starts_with("other_");
    const bool alike =
        found && found->verdict == best.verdict && (says_more || found->gist() == best.gist());
    if (alike) best = std::move(*found);
    return alike;
  };
  if (options_.battery == Battery::graded && worth_variants(best)) {
    int tried = 0;
    Problem smallest = problem;
    std::vector<int> way;
    best.alone = fails_alike(problem, {});
    if (!best.alone && best.verdict != Verdict::efficiency && best.cause != "stale" &&
        passes_alone(start, [&] { judge(problem); })) {
      best = because_instead(right_alone(), std::move(best));
    }
    bool found = best.alone;
    while (found) {
      found = false;
      const std::vector<Problem> offered = smaller(smallest);
      for (std::size_t i = 0; i < offered.size() && !found && ++tried <= variants_max; ++i) {
        way.push_back(static_cast<int>(i));
        found = fails_alike(offered[i], way);
        if (found) smallest = offered[i];
        if (!found) way.pop_back();
      }
    }
    // Once more, so that what is kept of the last case is kept of this one.
    if (best.alone) fails_alike(smallest, way);
    if (!way.empty()) best.origin = failure->where;
  }
  go_to(after);
  throw Failure(std::move(best));
}

}  // namespace lockstep::grader
