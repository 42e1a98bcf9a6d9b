// The family of computations of ranks: who is given what, what is said of wrong reports, smaller
// problems, and a peer that is lost.
#include "grader/exam/ranks_exam.hpp"

#include "grader/exam/reported_service.hpp"
#include "grader/judge/compare.hpp"
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

 private:
  std::optional<Answer> answer(const sim::Actor&, NumberCall call, double now) override {
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
  return {.case_of = [](const Problem& p, std::uint64_t,
                        int rank) { return SummingCase{.which = p.first + rank}; },
          .compare = compare,
          .smaller =
              [](const Problem& p) {
                std::vector<Problem> offered;
                for (int ranks = 1; ranks < p.members.size(); ++ranks) {
                  offered.push_back({whole_world(ranks), p.first});
                }
                return offered;
              },
          .services = [](const Problem&, std::uint64_t) { return std::tuple(Numbers()); }};
}

grader::Report judged(const std::function<void(CaseRunner&)>& run) {
  const Exam exam{{.name = "it sums", .run = run}};
  return judge_exam("summing", {[&] { return exam; }, {1}}, LOCKSTEP_SUMMING_PLAYER, {});
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
