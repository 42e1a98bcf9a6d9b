#include "grader/lab/report.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

Exercise reported() {
  Exercise exercise;
  exercise.name = "ring";
  exercise.lesson = "06_x";
  return exercise;
}

Grade failed() {
  Grade grade;
  grade.report.exercise = "ring";
  grade.report.verdict = Verdict::wrong_answer;
  grade.report.max_points = 10;
  grade.report.cause = "tail_lost";
  grade.report.message = "the tail is lost";
  CheckReport first;
  first.name = "values";
  first.verdict = Verdict::wrong_answer;
  first.message = "the tail is lost";
  first.expected = "7";
  first.seen = "3";
  first.where = "rank 2, element 5";
  first.counters = {{"bytes_sent", 17.5}};
  first.replay = "./lab check ring --seed 1 --case 3";
  CheckReport second;
  second.name = "traffic";
  second.skipped = true;
  grade.report.checks = {first, second};
  grade.report.output = {{1, "hello\nfrom rank 1\n"}};
  return grade;
}

}  // namespace

TEST_CASE("a report: says what, where, expected, seen, measured, replay, and what to do next") {
  const std::string words = words_of(failed(), Lab{}, reported(), Times::hidden);
  for (const char* part :
       {"06_x/ring  wrong answer  0/10 points", "the tail is lost", "expected  7", "seen      3",
        "rank 2, element 5", "bytes_sent 17.5", "./lab check ring --seed 1 --case 3",
        "./lab hint ring", "traffic (not run)", "from rank 1"}) {
    CHECK_THAT(words, test::contains(part));
  }
  CHECK(words.find('\x1b') == std::string::npos);
  CHECK(words.find("compile 0") == std::string::npos);
}

TEST_CASE("a report: what several checks find wasteful in one way is explained once") {
  Grade grade = failed();
  CheckReport wasteful;
  wasteful.verdict = Verdict::efficiency;
  wasteful.cause = "needless_barriers";
  wasteful.message = "there are 8 barriers";
  grade.report.verdict = Verdict::efficiency;
  grade.report.message = wasteful.message;
  grade.report.checks.assign(3, wasteful);
  grade.report.checks[2].cause = "too_many_bytes";
  grade.report.checks[2].message = "there are 900 bytes";
  const std::string words = words_of(grade, Lab{}, reported(), Times::hidden);
  CHECK_THAT(words, test::contains("why   as above: needless_barriers"));
  CHECK_THAT(words, test::contains("why   there are 900 bytes"));
  const auto told = words.find("there are 8 barriers");
  REQUIRE(told != std::string::npos);
  CHECK(words.find("there are 8 barriers", told + 1) == std::string::npos);
}

TEST_CASE("a report: of a part that is written in steps, what holds is shown beside what is next") {
  Grade grade = failed();
  grade.report.verdict = Verdict::unsolved;
  grade.report.steps_held = 1;
  grade.report.next_step = "step 2 of 3 is next: several workers";
  grade.report.checks[0].verdict = Verdict::pass;
  const std::string words = words_of(grade, Lab{}, reported(), Times::hidden);
  CHECK_THAT(words, test::contains("ok  values"));
  CHECK_THAT(words, test::contains("step 2 of 3 is next: several workers"));
  CHECK(json_of(grade).at("next_step") == grade.report.next_step);
}

TEST_CASE("a report: colours and times appear when asked for") {
  Lab lab;
  lab.paint = Paint::colour;
  const std::string words = words_of(failed(), lab, reported(), Times::shown);
  CHECK_THAT(words, test::contains("\x1b[31mwrong answer\x1b[0m"));
  CHECK_THAT(words, test::contains("compile 0.00 s, link 0.00 s, run 0.00 s"));
}

TEST_CASE("a report: as JSON a check that was not run is skipped, not passed") {
  const auto document = json_of(failed());
  CHECK(document.at("checks").at(1).at("verdict") == "skipped");
  CHECK(document.at("checks").at(0).at("counters").at("bytes_sent") == 17.5);
  CHECK(document.at("cause") == "tail_lost");
}
