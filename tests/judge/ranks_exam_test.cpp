// The family of computations of ranks: who is given what, what is said of wrong reports, smaller
// problems, and a peer that is lost.
#include "grader/exam/ranks/checks.hpp"

#include "grader/exam/ranks/reported_service.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "tests/catch.hpp"
#include "tests/judge/summing_case.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

namespace summing {

struct Problem {
  Members members;
  std::int64_t first = 0;  // the number of the group's rank 0
  std::uint64_t schedule_seed = 0;

  std::string description() const { return members.description(); }
};

class Numbers final : public TypedService<NumberCall> {
 public:
  std::vector<std::int64_t> asked;
  std::function<void(int)> looks = [](int) {};  // at a rank, while it is served

 private:
  std::optional<Answer> answer(const sim::Actor& who, NumberCall call, double now) override {
    looks(who.rank);
    if (call.which < 0) throw Error("there is no such number");
    asked.push_back(call.which);
    return answer_with(10.0 * static_cast<double>(call.which), now);
  }
};

using Contract = RanksContract<Problem, SummingCase, SummingReport, Numbers>;

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t,
             const std::vector<SummingReport>& reports, const Numbers& numbers) {
  double right = 0;
  for (int rank = 0; rank < p.members.size(); ++rank) {
    right += 10.0 * static_cast<double>(p.first + rank);
  }
  if (std::ssize(numbers.asked) != p.members.size()) {
    runner.fail(played, {.cause = "asked", .message = text(numbers.asked.size(), " asked")});
  }
  for (int rank = 0; rank < p.members.size(); ++rank) {
    const auto& sums = reports[static_cast<std::size_t>(rank)].sums;
    if (sums.size() != 1) throw MalformedMessage("not one sum");
    if (sums.front() == right) continue;
    runner.fail(played, because({"one_more", "one was added"},
                                {.message = text("rank ", rank, " has ", number(sums.front()))}));
  }
}

Contract contract() {
  return {
      .case_of = [](const Problem& p, std::uint64_t,
                    int rank) { return SummingCase{.which = p.first + rank}; },
      .compare = compare,
      .smaller = smaller_by(fewer_ranks),
      .services = [](CaseRunner&, const Problem&, std::uint64_t) { return std::tuple(Numbers()); }};
}

grader::Report judged(const std::function<void(CaseRunner&)>& run,
                      const JudgeOptions& options = {}) {
  const Exam exam{{.name = "it sums", .run = run}};
  return judge_exam("summing", {[&] { return exam; }, {1}}, LOCKSTEP_SUMMING_PLAYER, options);
}

// A case that measures its ranks, and gives each of them 40,000 numbers beside its own.
grader::Report weighed(const std::function<double(std::uint64_t)>& number) {
  Contract measured = contract();
  measured.case_of = [number](const Problem& p, std::uint64_t, int rank) {
    SummingCase one{.which = p.first + rank};
    for (std::uint64_t i = 0; i < 40'000; ++i) one.beside.push_back(number(i));
    return one;
  };
  measured.services = [](CaseRunner& runner, const Problem&, std::uint64_t) {
    Numbers numbers;
    numbers.looks = [&runner](int rank) { runner.memory_bytes(rank); };
    return std::tuple(numbers);
  };
  JudgeOptions options;
  options.weighs = true;
  return judged([&](CaseRunner& runner) { judge(runner, measured, {whole_world(2)}); }, options);
}

}  // namespace summing

}  // namespace

TEST_CASE("ranks: each member is given its own, and who sits out nothing") {
  const auto report = summing::judged([](CaseRunner& runner) {
    judge(runner, summing::contract(), {whole_world(3)});
    judge(runner, summing::contract(), {{5, {4, 0, 3}}});
  });
  CHECK(report.message == "");
  CHECK(report.verdict == Verdict::pass);
}

TEST_CASE("ranks: a wrong report is told, of the smallest problem that has it") {
  const auto report = summing::judged([](CaseRunner& runner) {
    judge(runner, summing::contract(), {{6, {5, 1, 2, 3}}, 11});
  });
  CHECK(report.cause == "one_more");
  CHECK(report.message.ends_with("rank 2 has 361; likely cause: one was added"));
  CHECK_THAT(report.checks.front().where, test::contains("3 ranks"));
}

TEST_CASE("ranks: what a case cost is looked at when it was right") {
  const auto report = summing::judged([](CaseRunner& runner) {
    judge(runner, summing::contract(), {whole_world(2)},
          [](CaseRunner& at, const Played& played, const summing::Problem&) {
            if (played.counters.collectives.size() == 1) return;
            at.fail(played, {.cause = "cost", .message = "not one collective"});
          });
  });
  CHECK(report.verdict == Verdict::pass);
}

TEST_CASE("ranks: a case that measures memory gives numbers that do not repeat") {
  const auto drawn = summing::weighed([](std::uint64_t i) { return keyed_uniform(1, i); });
  CHECK(drawn.message == "");
  CHECK(drawn.verdict == Verdict::pass);
  for (const std::uint64_t different : {1, 100, 4'000}) {
    const auto repeated =
        summing::weighed([different](std::uint64_t i) { return keyed_uniform(1, i % different); });
    CHECK(repeated.verdict == Verdict::infrastructure);
    CHECK(repeated.cause == "repeated");
    CHECK_THAT(repeated.message, test::contains("the memory of rank 0 is measured"));
  }
}

TEST_CASE("ranks: a service's refusal ends the rank's call, and a lost peer all calls") {
  const auto refused = summing::judged([](CaseRunner& runner) {
    judge(runner, summing::contract(), {whole_world(1), -1});
  });
  CHECK_THAT(refused.message, test::contains("there is no such number"));
  const auto lost = summing::judged([](CaseRunner& runner) {
    judge_lost_peer(runner, summing::contract(), {whole_world(3)}, 1, 1);
  });
  CHECK(lost.message == "");
  CHECK(lost.verdict == Verdict::pass);
}

TEST_CASE("ranks: every rank is lost at each of its requests, and then nobody is") {
  const auto lost = summing::judged([](CaseRunner& runner) {
    judge_lost_peers(runner, summing::contract(), {whole_world(2)}, 40);
  });
  CHECK(lost.message == "");
  CHECK(lost.verdict == Verdict::pass);
  const auto& asked = lost.checks.front().situations;
  CHECK(asked.at(Situation::after_an_exception) >= 2);
  CHECK(asked.at(Situation::lost_at_each_request) + asked.at(Situation::after_an_exception) == 40);
}

TEST_CASE(
    "ranks: of many requests, a rank is lost at the first two, the last ones, and some between") {
  using Places = std::vector<std::int64_t>;
  CHECK(requests_to_die_at(3, 12) == Places{1, 2, 3});
  CHECK(requests_to_die_at(40, 8) == Places{1, 2, 13, 24, 37, 38, 39, 40});
  CHECK(requests_to_die_at(1, 1) == Places{1});
  CHECK(requests_to_die_at(9, 1) == Places{1});
}

TEST_CASE("ranks: a problem gets smaller by its fields, in the order in which an exam names them") {
  struct Sized {
    Members members;
    int steps = 0;
    std::vector<int> sizes{};

    std::string words() const {
      std::string all = text(members.size(), " ranks, ", steps, " steps,");
      for (const int size : sizes) all += text(" ", size);
      return all;
    }
  };
  const auto sizes = [](auto& p) -> auto& { return p.sizes; };
  const auto smaller = smaller_by(fewer_ranks, down_to(&Sized::steps, 1), one_less(&Sized::steps),
                                  shorter(sizes, 2), without_each(&Sized::sizes));
  std::vector<std::string> offered;
  for (const Sized& one : smaller(Sized{whole_world(2), 5, {7, 8, 9}})) {
    offered.push_back(one.words());
  }
  CHECK(offered == std::vector<std::string>{"1 ranks, 5 steps, 7 8 9", "2 ranks, 1 steps, 7 8 9",
                                            "2 ranks, 4 steps, 7 8 9", "2 ranks, 5 steps, 7 8",
                                            "2 ranks, 5 steps, 8 9", "2 ranks, 5 steps, 7 9",
                                            "2 ranks, 5 steps, 7 8"});
  CHECK(smaller(Sized{whole_world(1), 1, {7}}).empty());
}

TEST_CASE("ranks: the family asks all sizes, a subgroup twice, and the price of one rank") {
  const auto asked_by = [](const Question& question) {
    const auto report = summing::judged(question);
    CHECK(report.message == "");
    return report.checks.front().situations;
  };
  const RanksChecks checks(summing::contract());
  CHECK(asked_by(checks.every_size()) == SituationCounts{{Situation::rank_counts, 1}});
  CHECK(asked_by(checks.twice_in_a_subgroup()) ==
        SituationCounts{{Situation::another_group, 2}, {Situation::same_call_twice, 1}});
  std::vector<int> priced;
  const auto cost = [&](CaseRunner&, const Played&, const summing::Problem& p) {
    priced.push_back(p.members.size());
  };
  const auto price = in_turn(checks.price({2, 1}, cost), checks.on({3}, {}, cost));
  CHECK(asked_by(price) == SituationCounts{{Situation::price_at_the_extremes, 1}});
  CHECK(priced == std::vector{2, 1, 3});
}

TEST_CASE("ranks: a change is in what is asked, and a look comes behind the comparison") {
  std::vector<std::int64_t> seen;
  const auto checks =
      RanksChecks(summing::contract(), [](summing::Problem& p) { p.first = p.members.size(); })
          .then([&](CaseRunner&, const Played&, const summing::Problem& p,
                    const summing::Numbers& numbers) {
            CHECK(std::ssize(numbers.asked) == p.members.size());
            seen.push_back(p.first);
          });
  const auto report =
      summing::judged(in_turn(checks.on({2, 3}), checks.on({2}, with(&summing::Problem::first, 40)),
                              checks.each(1, &summing::Problem::first, {7, 8})));
  CHECK(report.message == "");
  CHECK(seen == std::vector<std::int64_t>{2, 3, 40, 7, 8});
}
