// Cases of several lives: who plays them, what they find, and how they end.
#include "grader/exam/lives/script.hpp"

#include <algorithm>
#include <utility>

#include "tests/catch.hpp"
#include "tests/judge/noting_case.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

using Lines = std::vector<std::string>;

Life noting(const std::string& name, int ranks, Lines lines, LifeEnd end = {}) {
  const Bytes input = fields_to_bytes(NotingCase{std::move(lines)});
  return {name, std::vector<Bytes>(static_cast<std::size_t>(ranks), input), std::move(end)};
}

grader::Report judged(const std::function<void(CaseRunner&)>& run,
                      const JudgeOptions& options = {}) {
  const Exam exam{{.name = "it notes", .run = run}};
  return judge_exam("noting", {[&] { return exam; }, {1}}, LOCKSTEP_NOTING_PLAYER, options);
}

std::optional<Played> play(CaseRunner& runner, StorageService& storage,
                           const std::vector<Life>& lives) {
  CaseSetup common;
  common.description = "notes";
  common.schedule_seed = runner.draw();
  return play_lives(runner, common, storage, lives);
}

std::vector<NotingReport> reports_of(const Played& played) {
  std::vector<NotingReport> all;
  for (int rank = 0; std::cmp_less(rank, played.results->size()); ++rank) {
    all.push_back(read_fields<NotingReport>(played.results->of(rank)));
  }
  return all;
}

}  // namespace

TEST_CASE("lives: new processes find what others have left when all were killed at a call") {
  const auto report = judged([](CaseRunner& runner) {
    // Call by call in turns: both ranks list, both note "one", and one of them begins with "two".
    StorageService storage({.call_s = 1});
    const auto played = play(runner, storage,
                             {noting("two ranks note", 2, {"one", "two"}, {.after_calls = 4}),
                              noting("three ranks look", 3, {})});
    const auto reports = reports_of(*played);
    CHECK(reports.size() == 3);
    for (const NotingReport& one : reports) {
      CHECK(one.played_before == 0);
      Lines found = one.found;
      std::ranges::sort(found);
      CHECK(found == Lines{"one", "onet"});
    }
  });
  CHECK(report.message == "");
  CHECK(report.verdict == Verdict::pass);
}

TEST_CASE("lives: a life that comes to its end leaves all, and each has its own services") {
  struct Unasked final : sim::Service {
    std::string_view name() const override { return "unasked"; }
    std::optional<Answer> serve(const sim::Actor&, const sim::Request&, double) override {
      return {};
    }
  };
  std::vector<std::size_t> begun;
  const auto report = judged([&](CaseRunner& runner) {
    StorageService storage;
    std::vector<Unasked> unasked(2);
    const std::vector<Life> lives{noting("notes", 1, {"a", "b"}), noting("looks", 1, {"c"})};
    CaseSetup common;
    common.description = "notes";
    const auto played = play_lives(runner, common, storage, lives,
                                   [&](std::size_t life) -> std::vector<sim::Service*> {
                                     begun.push_back(life);
                                     return {&unasked[life]};
                                   });
    CHECK(reports_of(*played).front().found == Lines{"ab"});
    CHECK(played->description == "notes; looks");
    CHECK(storage.log_of(0).size() == 3);
    CHECK(storage.log_of(1).size() == 4);
    CHECK_FALSE(storage.has_ended());
  });
  CHECK(report.verdict == Verdict::pass);
  CHECK(begun == std::vector<std::size_t>{0, 1});
}

TEST_CASE("lives: a failure in an early life names it, and is of the case") {
  const auto report = judged([](CaseRunner& runner) {
    StorageService storage;
    play(runner, storage,
         {noting("writes nowhere", 1, {std::string(5, 'x')}, {.refused = {1}}),
          noting("looks", 1, {})});
  });
  CHECK(report.verdict == Verdict::crash);
  CHECK_THAT(report.message, test::contains("no space is left"));
  CHECK_THAT(report.checks.front().where, test::contains("case 1: notes; writes nowhere"));
}

TEST_CASE("lives: when another case was chosen, none is played, and the storage is untouched") {
  JudgeOptions options;
  options.only_case = CaseAddress{2, {}};
  judged(
      [](CaseRunner& runner) {
        StorageService storage;
        CHECK_FALSE(play(runner, storage, {noting("a", 1, {"x"}), noting("b", 1, {})}));
        CHECK(storage.log().empty());
        const auto played = play(runner, storage, {noting("a", 1, {"x"}), noting("b", 1, {})});
        CHECK(reports_of(*played).front().found == Lines{"x"});
      },
      options);
}
