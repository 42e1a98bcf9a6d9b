// The family of parts that are functions: what is said of answers, of refusals, and of a player
// that answers fewer questions than it was asked.
#include "grader/exam/function_exam.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

// Doubles, and what is asked before them.
FunctionContract<std::int64_t, std::int64_t> doubles() {
  return {.text_of = [](const std::int64_t& number) { return text("the number ", number); },
          .wrong = [](std::span<const std::int64_t> asked,
                      const std::int64_t& seen) -> std::optional<Failure> {
            if (seen == 2 * asked.back()) return std::nullopt;
            return because({"stale", text(asked.size() - 1, " were answered before")},
                           {.message = text("it is ", seen)});
          },
          .refusals = {{.valid = [](const std::int64_t& number) { return number >= 0; },
                        .refused =
                            [](const std::int64_t&) {
                              return Failure{.cause = "refused", .message = "refused"};
                            },
                        .accepted =
                            [](const std::int64_t&, const std::int64_t& seen) {
                              return Failure{.cause = "accepted", .message = text("gave ", seen)};
                            }}}};
}

Report asked(const FunctionContract<std::int64_t, std::int64_t>& contract,
             const std::vector<std::int64_t>& numbers) {
  const DeclaredExam exam{[&] {
                            return Exam{{"doubles", [&](CaseRunner& runner) {
                                           ask(runner, contract, "numbers", numbers);
                                         }}};
                          },
                          {1}};
  return judge_exam("doubles", exam, LOCKSTEP_ANSWERING_PLAYER, {});
}

}  // namespace

TEST_CASE("a function: right answers and refusals that are asked for pass") {
  const Report report = asked(doubles(), {1, -5, 0, 100});
  CHECK(report.verdict == Verdict::pass);
}

TEST_CASE("a function: a wrong answer is told with its question, after those that were answered") {
  const Report report = asked(doubles(), {100, -1, 3, 100});
  CHECK(report.cause == "stale");
  CHECK(report.message.ends_with("it is 7; likely cause: 2 were answered before"));
  CHECK(report.checks.front().where == "case 1: numbers, the number 100");
}

TEST_CASE("a function: what is refused, accepted, or answered by another error") {
  auto contract = doubles();
  contract.refusals->valid = [](const std::int64_t&) { return true; };
  CHECK(asked(contract, {4, -1}).cause == "refused");
  contract.refusals->valid = [](const std::int64_t& number) { return number == 4; };
  const Report accepted = asked(contract, {4, 6});
  CHECK(accepted.cause == "accepted");
  CHECK(accepted.checks.front().where == "case 1: numbers, the number 6");
  CHECK(asked(contract, {13}).cause == "wrong_error");
  CHECK(asked(doubles(), {13}).verdict == Verdict::crash);
}

TEST_CASE("a function: a player that answers fewer questions than it was asked is found out") {
  auto contract = doubles();
  contract.form = fields_to_bytes(std::uint64_t{1}, std::int64_t{5});  // the rest is not read
  const Report report = asked(contract, {5, 6});
  CHECK(report.verdict != Verdict::pass);
  CHECK(report.cause != "stale");
}

TEST_CASE("a function: a list of questions that fails is made smaller, and then the question") {
  auto contract = doubles();
  const auto judged = [&](const std::vector<std::int64_t>& numbers) {
    const DeclaredExam exam{[&] {
                              return Exam{{"doubles", [&](CaseRunner& runner) {
                                             judge(runner, contract, "numbers", numbers);
                                           }}};
                            },
                            {1}};
    return judge_exam("doubles", exam, LOCKSTEP_ANSWERING_PLAYER, {}).checks.front();
  };
  contract.smaller = [](const std::int64_t& number) {
    return number > 0 ? std::vector<std::int64_t>{number - 1} : std::vector<std::int64_t>{};
  };
  // 100 is answered wrong when it is asked for a second time: half of the list would be right.
  const CheckReport whole = judged({100, 8, 3, 100, 5});
  CHECK(whole.where == "case 1: numbers, the number 100");
  CHECK(whole.origin.empty());

  contract.wrong = [](std::span<const std::int64_t> asked,
                      const std::int64_t& seen) -> std::optional<Failure> {
    if (asked.back() < 4) return std::nullopt;
    return because({"large", "it is 4 or more"}, {.message = text("it is ", seen)});
  };
  const CheckReport smaller = judged({1, 2, 9, 3});
  CHECK(smaller.where.ends_with(": 1 question, the number 4"));
  CHECK(smaller.message.starts_with("it is 8;"));
  CHECK(smaller.origin == "case 1: numbers, the number 9");
}
