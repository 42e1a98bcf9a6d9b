// What the judge does with an exam, tried on exams that are made for it.
#include "grader/judge/case_runner.hpp"

#include "grader/exam/function/contrast.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

// Every rank is to give `value` back; the judge finds values above `bound` wrong.
struct Problem {
  int ranks = 1;
  int value = 0;
  int leaves_state = 0;  // 1: the player adds how many cases it has seen
};

std::vector<Problem> smaller(const Problem& p) {
  std::vector<Problem> offered;
  for (int ranks = 1; ranks < p.ranks; ++ranks) offered.push_back({ranks, p.value, p.leaves_state});
  if (p.value > 0) offered.push_back({p.ranks, p.value / 2, p.leaves_state});
  if (p.value > 0) offered.push_back({p.ranks, p.value - 1, p.leaves_state});
  return offered;
}

void judge(CaseRunner& runner, const Problem& p, int bound) {
  const std::uint64_t salt = runner.draw();
  CaseSetup setup;
  setup.description = text(p.ranks, " ranks, value ", p.value);
  for (int rank = 0; rank < p.ranks; ++rank) {
    ByteWriter input;
    input.put(p.value).put(p.leaves_state).put(salt);
    setup.inputs.push_back(input.take());
  }
  const auto played = runner.play(setup);
  if (!played) return;
  std::vector<int> results;
  for (int rank = 0; rank < p.ranks; ++rank)
    results.push_back(played->results->of(rank).get<int>());
  for (const int seen : results) {
    if (seen <= bound && (p.leaves_state == 0 || seen == p.value)) continue;
    Failure failure;
    failure.cause = "too_large";
    failure.message = text(seen, " with ", p.ranks, " ranks and salt ", salt);
    runner.fail(*played, failure);
  }
}

// A check of one case after the other.
Check check_of(std::vector<Problem> problems, int bound) {
  return {text("values up to ", bound), [problems, bound](CaseRunner& runner) {
            for (const Problem& p : problems) {
              runner.examine<Problem>(
                  p, [&](const Problem& one) { judge(runner, one, bound); }, smaller);
            }
          }};
}

Report judged(Exam checks, std::vector<int> declared, JudgeOptions options = {}) {
  options.limits.memory_bytes = std::int64_t{LOCKSTEP_PLAYER_MEMORY_MIB} << 20;
  return judge_exam("made_up", {[&] { return checks; }, std::move(declared)}, LOCKSTEP_TEST_PLAYER,
                    options);
}

const Check right = check_of({{1, 1}, {2, 2}, {4, 3}}, 100);
const Check wrong = check_of({{1, 1}, {4, 90}, {2, 3}}, 40);

}  // namespace

TEST_CASE("an exam: as many cases as it declares pass, and the report counts them") {
  const Report report = judged({right, right}, {3, 3});
  CHECK(report.verdict == Verdict::pass);
  CHECK(report.points == 10);
  const Tally tally = tally_of(report);
  CHECK(tally.checks == 2);
  CHECK(tally.passed == 2);
  CHECK(tally.cases == 6);
}

TEST_CASE("an exam: fewer cases or checks than it declares are the lab's failure, not a pass") {
  const Check empty{"nothing is asked", [](CaseRunner&) {}};
  for (const auto& [checks, declared] : std::vector<std::pair<Exam, std::vector<int>>>{
           {{empty}, {}}, {{right, empty}, {3, 0 + 1}}, {{right}, {4}}, {{right}, {3, 3}}}) {
    const Report report = judged(checks, declared);
    CHECK(report.verdict == Verdict::infrastructure);
    CHECK(report.points == 0);
    CHECK(report.cause == "too_few_cases");
    CHECK_THAT(report.message, test::contains("declares"));
  }
}

TEST_CASE("an exam: what the student has wrong is said before what the lab has wrong") {
  const Check empty{"nothing is asked", [](CaseRunner&) {}, std::vector<std::size_t>{}};
  CHECK(judged({wrong, empty}, {3, 1}).verdict == Verdict::wrong_answer);
}

TEST_CASE("an exam: a check is skipped, with the reason, when what it builds on failed") {
  Check after_first = right, independent = right;
  after_first.name = "after the first";
  after_first.builds_on = {0};
  independent.builds_on.emplace();
  const Report report = judged({wrong, right, after_first, independent}, {3, 3, 3, 3});
  REQUIRE(report.checks.size() == 4);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    CHECK(report.checks[i].skipped);
    CHECK_THAT(report.checks[i].message, test::contains("values up to 40"));
    CHECK(report.checks[i].cases == 0);
  }
  CHECK_FALSE(report.checks[3].skipped);
  CHECK(report.checks[3].verdict == Verdict::pass);
  CHECK(report.checks[3].cases == 3);
  CHECK(tally_of(report).failed == 1);
}

TEST_CASE("an exam: for a kill matrix, values are asked always, all else of right values only") {
  JudgeOptions kills;
  kills.battery = Battery::kills;
  const auto fails_with = [](Verdict verdict, Asks asks) {
    Check check = right;
    check.asks = asks;
    check.run = [verdict](CaseRunner& runner) {
      const auto played = runner.ask("fails", ByteWriter().put(1).put(0).put(runner.draw()).take());
      if (!played) return;
      played->results->of(0).get<int>();
      runner.fail(*played, {.verdict = verdict, .cause = "x", .message = "x"});
    };
    return check;
  };
  const Check waste = fails_with(Verdict::efficiency, Asks::cost);
  const Check late = fails_with(Verdict::time, Asks::values);
  Check cost = right;
  cost.asks = Asks::cost;
  Check fault = right;
  fault.asks = Asks::faults;
  const Report report = judged({wrong, cost, wrong, right, fault}, {3, 3, 3, 3, 3}, kills);
  CHECK(report.checks[1].skipped);
  CHECK(report.checks[2].verdict == Verdict::wrong_answer);
  CHECK(report.checks[3].cases == 3);
  CHECK(report.checks[4].skipped);
  const Report slow = judged({late, right}, {1, 3}, kills);
  CHECK(slow.verdict == Verdict::time);
  CHECK(slow.checks[1].skipped);
  const Report costly = judged({right, waste, cost}, {3, 1, 3}, kills);
  CHECK(costly.verdict == Verdict::efficiency);
  CHECK(costly.checks[2].cases == 3);
}

TEST_CASE("an exam: whether a wrong case passes by itself is tried for each failure that is read") {
  int tries = 0;
  const Check tried{"a wrong case",
                    [&](CaseRunner& runner) {
                      const CaseRunner::Place start = runner.place();
                      const auto once = [&] { judge(runner, {1, 90}, 40); };
                      const auto failure = runner.failure_of(once);
                      if (!failure) return;  // its case is only counted
                      CHECK_FALSE(runner.passes_alone(start, [&] {
                        ++tries;
                        once();
                      }));
                      throw Failure(*failure);
                    },
                    std::vector<std::size_t>{}};
  judged({tried, tried}, {1, 1});
  CHECK(tries == 2);
  JudgeOptions kills;
  kills.battery = Battery::kills;
  judged({tried, tried}, {1, 1}, kills);
  CHECK(tries == 3);
}

TEST_CASE(
    "an exam: three quarters of its checks hold, the others are wrong: a part of the points") {
  Check last = wrong;
  CHECK(judged({right, right, right, last}, {3, 3, 3, 3}).points == 4);
  CHECK(judged({right, right, last}, {3, 3, 3}).points == 0);
  // What builds on a failed check does not hold, whichever battery is run.
  Check behind = right;
  behind.builds_on = {2};
  JudgeOptions whole;
  whole.battery = Battery::whole;
  for (const JudgeOptions& options : {JudgeOptions{}, whole}) {
    CHECK(judged({right, right, last, behind, right}, {3, 3, 3, 3, 3}, options).points == 0);
    Check independent = right;
    independent.builds_on.emplace();
    const Exam most{right, right, last, independent, independent};
    CHECK(judged(most, {3, 3, 3, 3, 3}, options).points == 4);
  }
}

TEST_CASE("an exam: what is mostly right earns nothing if the rest is broken, or costs too much") {
  const auto ends_in = [](Verdict verdict, Asks asks) {
    Check check{"the last", [verdict](CaseRunner& runner) {
                  CaseSetup setup;
                  setup.description = "one rank";
                  ByteWriter input;
                  input.put(1).put(0).put(runner.draw());
                  setup.inputs.push_back(input.take());
                  const auto played = runner.play(setup);
                  if (!played) return;
                  played->results->of(0).get<int>();
                  runner.fail(*played, {.verdict = verdict, .cause = "x", .message = "x"});
                }};
    check.asks = asks;
    return judged({right, right, right, check}, {3, 3, 3, 1});
  };
  CHECK(ends_in(Verdict::wrong_answer, Asks::values).points == 4);
  CHECK(ends_in(Verdict::wrong_answer, Asks::faults).points == 4);
  CHECK(ends_in(Verdict::wrong_answer, Asks::cost).points == 0);
  for (const Verdict verdict : {Verdict::crash, Verdict::deadlock, Verdict::time, Verdict::memory,
                                Verdict::nondeterministic, Verdict::rank_exited}) {
    CHECK(ends_in(verdict, Asks::values).points == 0);
    CHECK(ends_in(verdict, Asks::faults).points == 0);
  }
}

TEST_CASE("an exam: a failure without a cause has one that says so") {
  const Check nameless{"fails", [](CaseRunner& runner) {
                         const auto played =
                             runner.ask("fails", ByteWriter().put(1).put(0).put(2).take());
                         if (!played) return;
                         played->results->of(0).get<int>();
                         runner.fail(*played, {.message = "x"});
                       }};
  const Report report = judged({nameless}, {1});
  CHECK(report.verdict == Verdict::wrong_answer);
  CHECK(report.cause == "no_cause");
  CHECK(report.checks[0].cause == "no_cause");
}

TEST_CASE(
    "an exam in steps: those that hold earn their part, and the first that does not is next") {
  const auto in_steps = [](Check first, const Check& second, Check third) {
    first.begins = Step{"one of them", 30};
    third.begins = Step{"the rest", 70};
    return Exam{first, second, third};
  };
  const Report half = judged(in_steps(right, right, wrong), {3, 3, 3});
  CHECK(half.verdict == Verdict::wrong_answer);
  CHECK(half.points == 3);
  CHECK(half.steps_held == 1);
  CHECK(half.next_step == "step 2 of 2 is next: the rest");
  const Report none = judged(in_steps(right, wrong, right), {3, 3, 3});
  CHECK(none.points == 0);
  CHECK(none.next_step == "step 1 of 2 is next: one of them");
  const Report whole = judged(in_steps(right, right, right), {3, 3, 3});
  CHECK(whole.points == 10);
  CHECK(whole.next_step.empty());
  JudgeOptions one_case;
  one_case.only_case = CaseAddress{1, {}};
  CHECK(judged(in_steps(right, right, wrong), {3, 3, 3}, one_case).points == 0);
}

TEST_CASE("a failing case: the smallest that fails alike is handed back, and replays exactly") {
  const Report report = judged({right, wrong}, {3, 3});
  const CheckReport& failed = report.checks[1];
  CHECK_THAT(failed.message, test::contains("41 with 1 ranks"));
  CHECK_THAT(failed.origin, test::contains("case 5: 4 ranks, value 90"));
  const std::string mark = "--case ";
  const auto address = case_address(failed.replay.substr(failed.replay.find(mark) + mark.size()));
  REQUIRE(address);
  CHECK(address->number == 5);
  JudgeOptions again;
  again.only_case = address;
  const Report replayed = judged({right, wrong}, {3, 3}, again);
  CHECK(replayed.verdict == report.verdict);
  CHECK(replayed.cause == report.cause);
  CHECK(replayed.message == report.message);
  CHECK(replayed.checks[1].where == failed.where);
  CHECK(replayed.points == 0);
}

TEST_CASE("a failing case: a brief judgement keeps it as it was drawn") {
  JudgeOptions brief;
  brief.battery = Battery::brief;
  const Report report = judged({wrong, right}, {3, 3}, brief);
  CHECK_THAT(report.message, test::contains("90 with 4 ranks"));
  CHECK(report.checks[0].origin.empty());
  CHECK(report.checks[1].skipped);
}

TEST_CASE("a failing case: cases have the same numbers whatever failed before them") {
  Check later = wrong;
  later.builds_on.emplace();
  const Report report = judged({wrong, right, later}, {3, 3, 3});
  CHECK_THAT(report.checks[0].replay, test::contains("--case 2."));
  CHECK_THAT(report.checks[2].replay, test::contains("--case 8."));
  JudgeOptions again;
  again.only_case = CaseAddress{8, {}};
  CHECK_THAT(judged({wrong, right, later}, {}, again).checks[2].message,
             test::contains("90 with 4 ranks"));
}

TEST_CASE("a failing case: one that fails only after others is replayed with them") {
  const Check left_over = check_of({{1, 1, 1}, {1, 2, 1}}, 100);
  const Report report = judged({left_over}, {2});
  CHECK(report.verdict == Verdict::wrong_answer);
  CHECK(report.checks[0].replay == "./lab check made_up --seed 1");
}

TEST_CASE("a variant that is not there is refused") {
  JudgeOptions options;
  options.only_case = CaseAddress{1, {99}};
  CHECK_THROWS_AS(judged({right}, {3}, options), UsageError);
}

TEST_CASE("seeds: what ranks are given is a function of the seed alone") {
  JudgeOptions seven, eight;
  seven.seed = 7;
  eight.seed = (std::uint64_t{1} << 63) + 8;
  const Report first = judged({right}, {3}, seven);
  CHECK(first.seed == 7);
  CHECK(first.inputs == judged({right}, {3}, seven).inputs);
  CHECK(first.inputs != judged({right}, {3}, eight).inputs);
}

TEST_CASE("case_address: a number, or the way to a smaller variant, and nothing else") {
  CHECK(case_address("17") == CaseAddress{17, {}});
  CHECK(case_address("17.0.3") == CaseAddress{17, {0, 3}});
  CHECK(text_of({17, {0, 3}}) == "17.0.3");
  for (const char* bad :
       {"", "0", "-1", "3.", ".3", "3..1", "3.-1", "3 ", "a", "3.1x", "3,1", "99999999999999"}) {
    INFO(bad);
    CHECK_FALSE(case_address(bad));
  }
}

TEST_CASE("a contrast: the first that passes is told beside the cause, of the smallest case") {
  const auto told_beside = [](std::vector<Contrast<Problem>> contrasts) {
    const Check check{"values up to 40", [&](CaseRunner& runner) {
                        examine_with_contrasts<Problem>(
                            runner, {4, 90}, [&](const Problem& one) { judge(runner, one, 40); },
                            smaller,
                            [&](const Failure& found, const Problem& p) {
                              CHECK(found.cause == "too_large");
                              CHECK(p.ranks == 1);
                              return contrasts;
                            });
                      }};
    return judged({check}, {1}).message;
  };
  const Problem fails{1, 41}, passes{1, 40};
  CHECK_THAT(told_beside({{{fails}, "a"}, {{passes, fails}, "b"}, {{passes}, "c"}, {{}, "d"}}),
             test::contains("; likely cause: c"));
  CHECK_THAT(told_beside({{{fails}, "a"}}), !test::contains("cause"));
}
