// Mutants that a judge runs to explain an answer: which one is named, and what those that hang or
// crash cost.
#include "grader/exam/known_mistakes.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/judge/halving/half.hpp"

namespace lockstep::grader::halving {

// Made of tests/judge/halving/mutants.toml.
std::vector<KnownMistake<decltype(lockstep::halving::half)>> known_mistakes();

}  // namespace lockstep::grader::halving

using namespace lockstep::grader;

namespace {

using Finder = MistakeFinder<decltype(lockstep::halving::half)>;

std::string named(Finder& finder, const std::vector<int>& asked, const std::vector<int>& given) {
  const auto cause = finder.cause_of(std::span<const int>(asked), given,
                                     [](auto& half, int number) { return half(number); });
  return cause ? cause->name : "none";
}

// Processor time of all children that have ended.
double children_s() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

TEST_CASE(
    "known mistakes: those before that hang, crash, exit or fill the memory are passed over") {
  Finder finder(lockstep::grader::halving::known_mistakes());
  CHECK(named(finder, {4, 7}, {2, 4}) == "rounds_up");
}

TEST_CASE("known mistakes: only mutants with a sentence that are wrong answers are asked") {
  std::vector<std::string> names;
  for (const auto& mistake : lockstep::grader::halving::known_mistakes())
    names.push_back(mistake.cause.name);
  CHECK(names == std::vector<std::string>{"hangs", "crashes", "overflows_the_stack", "exits",
                                          "throws", "fills_the_memory", "rounds_up",
                                          "rounds_up_by_another_way",
                                          "answers_the_question_before"});
  CHECK(lockstep::grader::halving::known_mistakes()[6].cause.sentence ==
        "half of an odd number is rounded up; say \"n / 2\"");
}

TEST_CASE(
    "known mistakes: questions are asked one after the other, and all answers must be alike") {
  Finder finder(lockstep::grader::halving::known_mistakes());
  CHECK(named(finder, {4, 8}, {2, 2}) == "answers_the_question_before");
  CHECK(named(finder, {8}, {2}) == "none");
  CHECK(named(finder, {7, 9}, {3, 5}) == "none");
}

TEST_CASE("trials: one that was given up is not tried again") {
  Trials trials(2);
  const auto holds = [](std::size_t trial) {
    volatile bool goes_on = trial == 0;
    while (goes_on) {
    }
    return true;
  };
  CHECK(trials.first_that_holds(holds) == 1);
  const double before = children_s();
  CHECK(trials.first_that_holds(holds) == 1);
  CHECK(children_s() - before < TrialLimits{}.processor_s);
}

TEST_CASE("trials: one that waits without computing is given up") {
  Trials trials(2, {.silence_s = 1});
  CHECK(trials.first_that_holds([](std::size_t trial) {
    if (trial == 0) ::pause();
    return trial == 1;
  }) == 1);
}

TEST_CASE("trials: what a trial changes stays in its process") {
  int changed = 0;
  Trials trials(3);
  CHECK(trials.first_that_holds([&](std::size_t) { return ++changed == 3; }) == 2);
  CHECK(changed == 0);
  CHECK_FALSE(Trials(0).first_that_holds([](std::size_t) { return true; }));
}
