// What a check must have seen before it holds, tried on checks that look at too little.
#include <limits>
#include <new>
#include <stdexcept>

#include "engine/sim/wire/printable.hpp"
#include "grader/exam/ranks/evidence.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

namespace evidence {

// What the counting player does with its value (counting_player.cpp).
enum class Returns : int { value = 0, value_and_cases = 1, value_twice = 2 };

CaseSetup asked(Returns returns, Players players = Players::kept) {
  CaseSetup setup;
  setup.description = "1 rank";
  setup.players = players;
  setup.inputs.push_back(ByteWriter().put(5).put(returns).take());
  return setup;
}

int value_in(const Played& played) { return played.results->of(0).get<int>(); }

using Run = std::function<void(CaseRunner&)>;

Report judged_by(const Run& run, JudgeOptions options = {}) {
  options.limits.memory_bytes = std::int64_t{LOCKSTEP_PLAYER_MEMORY_MIB} << 20;
  const Exam exam{{.name = "it looks", .run = run}};
  return judge_exam("made_up", {[&] { return exam; }, {1}}, LOCKSTEP_TEST_PLAYER, options);
}

// Plays one case, reads it, and throws.
Run throws_after_a_case(const std::function<void()>& thrown) {
  return [thrown](CaseRunner& runner) {
    value_in(*runner.play(asked(Returns::value)));
    thrown();
  };
}

enum class Told : unsigned char { begins, goes_on, ends };

}  // namespace evidence

}  // namespace

using evidence::asked;
using evidence::judged_by;
using evidence::Returns;

TEST_CASE("evidence: a result that no check has read to its end cannot be read") {
  const auto unread = [](Returns returns) {
    return judged_by([returns](CaseRunner& runner) { runner.play(asked(returns)); });
  };
  const auto half_read = [](Returns returns) {
    return judged_by(
        [returns](CaseRunner& runner) { evidence::value_in(*runner.play(asked(returns))); });
  };
  CHECK(half_read(Returns::value).verdict == Verdict::pass);
  for (const Report& report : {unread(Returns::value), half_read(Returns::value_twice)}) {
    CHECK(report.verdict == Verdict::crash);
    CHECK(report.cause == "unreadable_result");
    CHECK(report.points == 0);
  }
}

TEST_CASE("evidence: a result that is left unread is found when the next case is played, too") {
  const Report report = judged_by([](CaseRunner& runner) {
    runner.play(asked(Returns::value));
    evidence::value_in(*runner.play(asked(Returns::value)));
  });
  CHECK(report.cause == "unreadable_result");
  CHECK_THAT(report.checks[0].where, test::contains("case 1:"));
}

TEST_CASE("evidence: whatever is thrown while a result is read is the part's failure") {
  const std::vector<std::function<void()>> all{
      [] { throw std::bad_alloc(); }, [] { throw std::length_error("too long"); },
      [] { throw std::out_of_range("beyond"); }, [] { throw Error("of no kind"); },
      [] { throw MalformedMessage("cut off"); }};
  for (const auto& thrown : all) {
    const Report report = judged_by(evidence::throws_after_a_case(thrown));
    CHECK(report.verdict == Verdict::crash);
    CHECK(report.cause == "unreadable_result");
  }
}

TEST_CASE(
    "evidence: what is thrown before a case was played is the lab's, and so is a wrong call") {
  CHECK_THROWS_AS(judged_by([](CaseRunner&) { throw std::bad_alloc(); }), std::bad_alloc);
  CHECK_THROWS_AS(judged_by([](CaseRunner&) { throw Error("the lab's own"); }), Error);
  CHECK_THROWS_AS(
      judged_by(evidence::throws_after_a_case([] { throw UsageError("--case: no such"); })),
      UsageError);
}

TEST_CASE("evidence: the texts of a failure have a bound, and end with a whole character") {
  const Report report = judged_by([](CaseRunner& runner) {
    const auto played = runner.play(asked(Returns::value));
    Failure failure;
    std::string long_text = "a";
    for (int i = 0; i < 1'000'000; ++i) long_text += "µ";
    failure.message = failure.expected = failure.seen = failure.where = long_text;
    runner.fail(*played, failure);
  });
  const CheckReport& check = report.checks[0];
  for (const std::string& said : {check.message, check.expected, check.seen, check.where}) {
    CHECK(said.size() > 3900);
    CHECK(said.size() < 4100);
    CHECK(sim::printable(said, said.size()) == said);
  }
}

TEST_CASE("evidence: fresh players remember nothing, kept ones may") {
  std::vector<int> seen;
  judged_by([&seen](CaseRunner& runner) {
    for (const Players players : {Players::kept, Players::kept, Players::fresh, Players::kept}) {
      seen.push_back(evidence::value_in(*runner.play(asked(Returns::value_and_cases, players))));
    }
  });
  CHECK(seen == std::vector<int>{5, 6, 5, 6});
}

TEST_CASE("evidence: reports must be those of one order, each and no more") {
  using evidence::Told;
  const ReportOrder<Told> order{{Told::begins}, {Told::goes_on, Told::ends}};
  const auto takes = [&](const std::vector<Told>& seen) {
    require_order<Told>("rank 0", seen, {order, {}});
  };
  CHECK_NOTHROW(takes({Told::begins, Told::ends}));
  CHECK_NOTHROW(takes({Told::begins, Told::goes_on}));
  CHECK_NOTHROW(takes({}));
  for (const std::vector<Told>& other :
       {std::vector{Told::begins}, std::vector{Told::ends, Told::begins},
        std::vector{Told::begins, Told::ends, Told::ends}}) {
    CHECK_THROWS_AS(takes(other), MalformedMessage);
  }
}

TEST_CASE("numbers: one below the smallest normal double is written, not refused") {
  CHECK(number(std::numeric_limits<double>::denorm_min()) == "4.94066e-324");
  CHECK(number(1e-310) == "1e-310");
}

TEST_CASE("elements: a buffer that ends inside of one cannot be read") {
  const Bytes bytes(12);
  CHECK(as_doubles(DType::float32, bytes).size() == 3);
  CHECK_THROWS_AS(as_doubles(DType::float64, bytes), MalformedMessage);
  CHECK_THROWS_AS(as_integers(bytes), MalformedMessage);
}
