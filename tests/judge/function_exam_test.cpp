// The family of parts that are functions: what is said of answers, of refusals, and of a player
// that answers fewer questions than it was asked.
#include "grader/exam/function/exam.hpp"

#include <cmath>
#include <limits>

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
            return because({"other_double", "it is not twice as large"},
                           {.message = text("it is ", seen)});
          },
          .refusals = {{.valid = [](const std::int64_t& number) { return number >= 0; },
                        .accepts = {"accepted", "it is below 0"},
                        .nonsense = {-1}}},
          .sizes = [](const std::int64_t& number) -> Sizes {
            return {number, {number}};
          }};
}

Report asked(const FunctionContract<std::int64_t, std::int64_t>& contract,
             const std::vector<std::int64_t>& numbers, const JudgeOptions& options = {}) {
  const DeclaredExam exam{[&] {
                            return Exam{{"doubles", [&](CaseRunner& runner) {
                                           ask(runner, contract, "numbers", numbers);
                                         }}};
                          },
                          {1}};
  return judge_exam("doubles", exam, LOCKSTEP_ANSWERING_PLAYER, options);
}

}  // namespace

TEST_CASE("a function: right answers and refusals that are asked for pass") {
  const Report report = asked(doubles(), {1, -5, 0, 50});
  CHECK(report.verdict == Verdict::pass);
}

TEST_CASE("a function: what was answered rightly before and is wrong now was kept") {
  const Report report = asked(doubles(), {100, -1, 3});
  CHECK(report.cause == "stale");
  CHECK_THAT(
      report.message,
      test::contains("it is 7; likely cause: the same question was answered rightly before"));
  CHECK(report.checks.front().where == "case 1: numbers, the number 100");
}

TEST_CASE("a function: what is wrong only behind other questions was kept") {
  const std::vector<std::int64_t> questions{3, 4};
  const auto blamed = [&](std::int64_t seen, bool passes_alone) {
    const auto contract = doubles();
    return blaming_what_is_kept<std::int64_t, std::int64_t>(
        contract, questions, seen, *contract.wrong(questions, seen), [=] { return passes_alone; });
  };
  CHECK(blamed(6, true).cause == "stale");
  CHECK_THAT(blamed(6, true).message,
             test::contains("this is the answer to the previous question"));
  CHECK(blamed(7, true).cause == "stale");
  CHECK_THAT(blamed(7, true).message, test::contains("in a new process"));
  CHECK(blamed(6, false).cause == "other_double");
  CHECK(blamed(6, false).message == "it is 6; what to check: it is not twice as large");
}

TEST_CASE("a function: what is asked aside, to see whether it passes alone, is not drawn") {
  auto contract = doubles();
  contract.wrong = [](std::span<const std::int64_t> before,
                      std::int64_t) -> std::optional<Failure> {
    if (before.size() == 1) return std::nullopt;
    return Failure{.message = "it is right alone"};
  };
  contract.picture = [](std::int64_t question, std::int64_t, trace::Timeline& run) {
    run.facts.emplace_back("number", text(question));
  };
  trace::Timeline kept;
  JudgeOptions options;
  options.timeline = &kept;
  CHECK(asked(contract, {3, 4}, options).cause == "stale");
  REQUIRE(std::ranges::count(kept.facts, "number", [](const auto& one) { return one.first; }) == 1);
  CHECK(std::ranges::count(kept.facts, std::pair<std::string, std::string>("number", "3")) == 1);
}

TEST_CASE("a function: each case asks again, in turns") {
  using enum Situation;
  const auto contract = doubles();
  const auto holds = [&](const std::vector<std::int64_t>& questions, Situation situation) {
    return std::ranges::count(situations_of(contract, questions), situation) > 0;
  };
  CHECK(with_repeats(contract, {4, 6}) == std::vector<std::int64_t>{4, 6, 4, 4, 6, 4});
  CHECK(with_repeats(contract, {-5}) == std::vector<std::int64_t>{-5});
  const Report report = asked(contract, {4, 6});
  for (const Situation one : {same_call_twice, calls_in_turns}) {
    CHECK(report.checks.front().situations.at(one) == 1);
    CHECK_FALSE(holds({4, 6}, one));
  }
  CHECK(holds({4, 4}, same_call_twice));
  CHECK(holds({4, 6, 4}, calls_in_turns));
  CHECK(holds({-1, 4}, after_an_exception));
}

TEST_CASE("a function: its situations are those that its questions hold") {
  using enum Situation;
  const auto holds = [](const std::vector<std::int64_t>& questions, Situation situation) {
    return std::ranges::count(situations_of(doubles(), questions), situation) > 0;
  };
  const std::vector<std::int64_t> every(std::begin(every_rank_count), std::end(every_rank_count));
  CHECK(holds(every, rank_counts));
  CHECK_FALSE(holds({every.begin() + 1, every.end()}, rank_counts));
  CHECK(holds({300}, beyond_2_8));
  CHECK_FALSE(holds({256}, beyond_2_8));
  CHECK(holds({70'000}, beyond_2_16));
  CHECK(holds({std::int64_t{1} << 33}, beyond_2_32));
  CHECK_FALSE(holds({std::int64_t{1} << 32}, beyond_2_32));
  CHECK(holds({std::numeric_limits<std::int64_t>::max()}, integer_extremes));
  CHECK(holds({std::numeric_limits<std::int64_t>::min()}, integer_extremes));
  SituationSet found;
  note_sizes({{4, {0, 1, 7}}}, 0, found);
  CHECK(found.contains(element_counts));
  found.clear();
  note_sizes({{1, {0, 1, 7}}}, 0, found);
  CHECK_FALSE(found.contains(element_counts));  // one rank divides all
}

TEST_CASE("a function: special numbers are found wherever a question holds them") {
  using enum Situation;
  SituationSet found;
  SpecialNumbers special(found);
  special(std::vector<double>{1, -0.0}, std::optional<double>(NAN), std::map<int, float>{{1, 2}});
  CHECK(found == SituationSet{not_a_number, negative_zero});
  special(std::array<double, 2>{0x1p-1060, -INFINITY});
  CHECK(found == SituationSet{not_a_number, infinity, negative_zero, subnormal});
}

TEST_CASE("a function: what is refused, accepted, or answered by another error") {
  auto contract = doubles();
  contract.refusals->valid = [](const std::int64_t&) { return true; };
  CHECK(asked(contract, {4, -1}).cause == "refuses_valid");
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
  CHECK(report.cause != "other_double");
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
  // 100 is answered wrong when it is asked for a second time, in a list of its own, too.
  const CheckReport whole = judged({100, 8, 3, 100, 5});
  CHECK(whole.where.ends_with(": 1 question, the number 100"));
  CHECK(whole.origin == "case 1: numbers, the number 100");

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
