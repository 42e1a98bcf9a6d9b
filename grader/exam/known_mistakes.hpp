// Names the mistake behind a wrong answer: the judge of a lesson holds the mutants of a part as
// programs (grader/course/mistakes_unit.hpp), and asks which one gives exactly what the student's
// program gave. Its sentence is the likely cause. The exam decides by itself what is right; a
// mistake only explains.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "grader/exam/trials.hpp"
#include "grader/judge/causes.hpp"

namespace lockstep::grader {

template <typename Function>
struct KnownMistake {
  Cause cause;
  Function* program = nullptr;
};

template <typename Function>
class MistakeFinder {
 public:
  explicit MistakeFinder(std::vector<KnownMistake<Function>> all, const TrialLimits& limits = {})
      : all_(std::move(all)), trials_(all_.size(), limits) {}

  // The first of the mistakes, in the order of their file, whose program gives these answers to
  // these questions, asked one after the other. Several may: those that later checks notice first
  // stand first, since another one would have failed an earlier check.
  //   answer  a program's answer to a question
  template <typename Question, typename Answer, typename Ask>
  std::optional<Cause> cause_of(std::span<const Question> asked, const std::vector<Answer>& given,
                                const Ask& answer) {
    const auto found = trials_.first_that_holds([&](std::size_t mistake) {
      return std::ranges::equal(asked, given, [&](const Question& question, const Answer& seen) {
        return answer(*all_[mistake].program, question) == seen;
      });
    });
    if (!found) return std::nullopt;
    return all_[*found].cause;
  }

 private:
  std::vector<KnownMistake<Function>> all_;
  Trials trials_;
};

}  // namespace lockstep::grader
