// Which known mistake is named for a failed check: those of a list are played with the failing
// case.
#include "grader/judge/known_mistakes.hpp"

#include <cstring>

#include "grader/course/text/text_file.hpp"
#include "grader/exam/function/exam.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

using Contract = FunctionContract<std::int64_t, std::int64_t>;

Contract doubling_contract(const std::string& cause) {
  return {.text_of = [](std::int64_t number) { return text(number); },
          .wrong = [cause](std::span<const std::int64_t> asked,
                           std::int64_t seen) -> std::optional<Failure> {
            if (seen == 2 * asked.back()) return std::nullopt;
            return because({cause, "no usual mistake"}, {.message = text(seen)});
          },
          .refusals = {{.valid = [](std::int64_t number) { return number >= 0; },
                        .accepts = {"accepts", "no number below 0"}}},
          .smaller = [](std::int64_t number) { return std::vector{number - 1}; }};
}

Check every_number(const std::string& cause = "wrong") {
  return {"doubles of 1 to 90", [cause](CaseRunner& runner) {
            judge(runner, doubling_contract(cause), "numbers", {1, 2, 50, 60, 90});
          }};
}

// What is named when the player makes this mistake, and these are known. `said`: the exam's own
// cause.
std::string named(int mistake, const std::string& list, const std::string& said = "wrong") {
  const test::Scratch scratch;
  const std::string program = (scratch.path() / "mistakes").string();
  std::filesystem::create_symlink(LOCKSTEP_ANSWERING_PLAYER, program);
  write_text(program + ".list", list);
  JudgeOptions options;
  options.mistakes = program;
  options.limits.memory_bytes = std::int64_t{LOCKSTEP_PLAYER_MEMORY_MIB} << 20;
  const std::vector<std::string> player{LOCKSTEP_ANSWERING_PLAYER, text(mistake)};
  CaseRunner runner("made_up", player, options);
  const CaseRunner::Place began_at = runner.place();
  const Check check = every_number(said);
  const auto failure = runner.failure_of([&] { check.run(runner); });
  REQUIRE(failure);
  const auto cause = known_cause("made_up", player, options, check, began_at, *failure);
  return cause ? cause->name + ": " + cause->sentence : "none";
}

Evidence of_results(std::vector<Bytes> results, const Failure& failure = {}) {
  return {failure, std::move(results)};
}

template <typename Number>
Bytes bytes_of_all(const std::vector<Number>& numbers) {
  Bytes bytes(numbers.size() * sizeof(Number) + 1);  // numbers need not be aligned
  std::memcpy(bytes.data() + 1, numbers.data(), numbers.size() * sizeof(Number));
  return bytes;
}

template <typename Number>
bool same(const std::vector<Number>& one, const std::vector<Number>& other) {
  return same_evidence(of_results({bytes_of_all(one)}), of_results({bytes_of_all(other)}));
}

}  // namespace

TEST_CASE("known mistakes: the one with the same results is named, and no other") {
  CHECK(named(1, "one\tdoubles\ta sentence\nx\t?\tx\nthree\tdoubles\tanother\n") ==
        "one: a sentence");
  CHECK(named(3, "one\tdoubles\ta sentence\nx\t?\tx\nthree\tdoubles\tanother\n") ==
        "three: another");
  CHECK(named(4, "one\tdoubles\ta sentence\nx\t?\tx\nthree\tdoubles\tanother\n") == "none");
}

TEST_CASE("known mistakes: an exception is named by the mistake that throws the same") {
  CHECK(named(4, "one\tdoubles\ta\ntwo\tdoubles\tb\nthree\tdoubles\tc\nfour\tdoubles\td\n") ==
        "four: d");
}

TEST_CASE("known mistakes: those that fail another check first are not asked") {
  CHECK(named(1, "one\tno other\ta sentence\n") == "none");
  CHECK(named(1, "one\t?\ta\ntwo\tdoubles\tb\n") == "two: b");
}

TEST_CASE(
    "known mistakes: where the exam recognises nothing, those of other checks are asked last") {
  CHECK(named(1, "one\tno other\ta\n", "other_number") == "one: a");
  CHECK(named(1, "one\tno other\ta\ntwo\tdoubles\tb\n", "other_number") == "two: b");
  CHECK(named(1, "one\tno other\ta\ntwo\tno other\tb\n", "other_number") == "none");
}

TEST_CASE("known mistakes: of several with other sentences none is told, with one sentence it is") {
  CHECK(named(1, "one\tdoubles\ta\ntwo\tdoubles\tb\n") == "none");
  CHECK(named(1, "one\tdoubles\ta\ntwo\tdoubles\ta\n") == "one: a");
}

TEST_CASE("known mistakes: a list that is missing or of another form is the lab's failure") {
  CHECK_THROWS_WITH(named(1, "one doubles\n"), test::contains("mistakes.list:1: not a mistake's"));
  CHECK_THROWS_WITH(named(1, ""), test::contains("mistakes.list has no mistakes"));
}

TEST_CASE("known mistakes: evidence differs in more than the last digits of a number") {
  constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
  CHECK(same<double>({1, 1.0 / 3}, {1, 1.0 / 3 + 1e-16}));
  CHECK_FALSE(same<double>({1, 1.0 / 3}, {1, 1.0 / 3 + 1e-9}));
  CHECK(same<float>({2, 1.0f / 3}, {2, 1.0f / 3 + 1e-7f}));
  CHECK_FALSE(same<float>({2, 1.0f / 3}, {2, 1.0f / 3 + 1e-4f}));
  CHECK(same<double>({no_number}, {-no_number}));
  CHECK_FALSE(same<double>({no_number}, {1}));
  CHECK_FALSE(same<std::int64_t>({5, 7}, {6, 7}));
  CHECK_FALSE(same<std::int32_t>({5, 7}, {5, 8}));
  CHECK_FALSE(same<std::int16_t>({300}, {301}));
  CHECK_FALSE(same<double>({1, 2}, {1, 2, 3}));
}

TEST_CASE("known mistakes: evidence of what costs too much has the same words, too") {
  const auto waste = [](const std::string& seen) {
    Failure failure{.verdict = Verdict::efficiency, .message = "too many bytes", .seen = seen};
    return of_results({bytes_of_all<double>({1})}, failure);
  };
  CHECK(same_evidence(waste("8 bytes"), waste("8 bytes")));
  CHECK_FALSE(same_evidence(waste("8 bytes"), waste("9 bytes")));
}

TEST_CASE("known mistakes: evidence of a part that reports nothing has the same words") {
  const auto act = [](const std::string& seen) {
    return of_results({Bytes{}}, {.message = "parameters", .seen = seen});
  };
  CHECK(same_evidence(act("0.5"), act("0.5")));
  CHECK_FALSE(same_evidence(act("0.5"), act("0.25")));
}

TEST_CASE("known mistakes: nothing is played again for a hang, a stub or what is kept") {
  JudgeOptions options;
  options.mistakes = "/no/such/program";
  const auto cause = [&](Failure failure) {
    failure.at = {1, {}};
    return known_cause("made_up", {"/no/such/player"}, options, every_number(), {}, failure);
  };
  CHECK_FALSE(cause({.verdict = Verdict::time}));
  CHECK_FALSE(cause({.verdict = Verdict::unsolved}));
  CHECK_FALSE(cause({.cause = "stale"}));
  CHECK_FALSE(cause({.alone = false}));
  CHECK_THROWS_AS(cause({.cause = "other"}), Error);
}
