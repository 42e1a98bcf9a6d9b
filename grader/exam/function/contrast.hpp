// Contrasts: a case beside a failing one that differs from it in one respect. Where it passes, that
// respect is told beside the cause: "with 2 ranks it passes".
#pragma once

#include <string>
#include <vector>

#include "grader/judge/case_runner.hpp"

namespace lockstep::grader {

template <typename Problem>
struct Contrast {
  std::vector<Problem> problems;  // all of them must pass
  std::string sentence;
};

// Adds a sentence to what a failure says of its cause.
inline void tell_besides(Failure& found, const std::string& sentence) {
  const bool told = lead_in(found.message) < found.message.size();
  found = told ? std::move(found) : also_because(sentence, std::move(found));
  if (told) found.message += "; " + sentence;
}

// CaseRunner::examine, which tells the first contrast that passes. They are asked for with the
// smallest problem that fails; none is for a failure that says enough.
template <typename Problem>
void examine_with_contrasts(
    CaseRunner& runner, const Problem& problem, const std::function<void(const Problem&)>& judge,
    const std::function<std::vector<Problem>(const Problem&)>& smaller,
    const std::function<std::vector<Contrast<Problem>>(const Failure&, const Problem&)>& beside) {
  const CaseRunner::Place start = runner.place();
  try {
    runner.examine<Problem>(problem, judge, smaller);
  } catch (Failure& found) {
    if (!found.alone || !worth_variants(found)) throw;
    for (const auto& [problems, sentence] :
         beside(found, variant_of(problem, found.at.way, smaller))) {
      const bool all_pass = std::ranges::all_of(problems, [&](const Problem& other) {
        return runner.passes_alone(start, [&] { judge(other); });
      });
      if (!all_pass) continue;
      tell_besides(found, sentence);
      break;
    }
    throw;
  }
}

}  // namespace lockstep::grader
