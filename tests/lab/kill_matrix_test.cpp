// The kill matrix: that of an exercise is written from values and read back.
#include "grader/dev/kill_matrix.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

namespace lockstep::grader {
namespace {

ExerciseKills ring_kills() {
  return {
      .handle = "ring",
      .checks = {"values | sums", "2(N-1)/N of *the* data_size", "never fails"},
      .mutants =
          {{"tail_lost", "wrong answer", "tail_lost", {Mark::fails, Mark::fails, Mark::not_asked}},
           {"turns", "efficiency", "too_many_messages", {Mark::holds, Mark::fails, Mark::holds}},
           {"survives", "pass", "", {Mark::holds, Mark::holds, Mark::holds}}},
      .alternatives = {"left_wards", "all_at_once"},
      .nothing_done = {Mark::fails, Mark::not_asked, Mark::not_asked},
      .situations = {{"not_a_number", 3, ""}, {"every_dtype", 0, "it *holds* | bytes"}},
      .sentences = {{"ring Comm 1", "2(N-1) steps | of data_size", {1, 3}, ""},
                    {"ring push, S > 0 1", "`bytes`", {}, "no *check* sees it"}}};
}

}  // namespace

TEST_CASE("kill matrix: an exercise's page is read back as it was written") {
  ExerciseKills quiz = ring_kills();
  quiz.handle = "06_all_reduce/quiz";
  quiz.alternatives.clear();
  quiz.nothing_done.clear();
  quiz.situations.clear();
  quiz.sentences.clear();
  for (const ExerciseKills& kills : {ring_kills(), quiz}) {
    CHECK(read_kills(kills_text(kills)) == kills);
  }
}

TEST_CASE("kill matrix: kills are counted by check, and those that it is the first to make") {
  CHECK(ring_kills().kills_of(0) == 1);
  CHECK(ring_kills().kills_of(1) == 2);
  CHECK(ring_kills().first_kills_of(0) == 1);
  CHECK(ring_kills().first_kills_of(1) == 1);
  CHECK(ring_kills().first_kills_of(2) == 0);
  const KillTotals totals = totals_of({ring_kills()});
  CHECK(totals.mutants == 3);
  CHECK(totals.killed == 2);
  CHECK(totals.checks_with_kill == 2);
  CHECK(totals.checks_first == 2);
  CHECK(totals.asked == 1);
  CHECK(totals.excepted == 1);
  CHECK(totals.sentences == 2);
  CHECK(totals.unchecked == 1);
}

TEST_CASE("kill matrix: a check without a kill and a mutant that survives are told, not hidden") {
  const std::string page = kill_page({ring_kills()}, {"06_all_reduce/tree"});
  CHECK(page.find("2 are rejected, 2 checks kill at least one") != std::string::npos);
  CHECK(page.find("| ring | 3 | 2 | 3 | 2 | 2 | 1 | 1 | 2 | 1 |\n") != std::string::npos);
  CHECK(page.find("| ring Comm 1 | 2(N-1) steps \\| of data\\_size | 1, 3 |\n") !=
        std::string::npos);
  CHECK(page.find("- ring: never fails\n") != std::string::npos);
  CHECK(page.find("(`./lab dev prove`): 06\\_all\\_reduce/tree.\n") != std::string::npos);
  CHECK(kill_page({}, {"a"}).find("**Nothing is proved here yet") != std::string::npos);
}

TEST_CASE("kill matrix: a page that was edited by hand is refused, with its line") {
  std::string file = kills_text(ring_kills());
  file.replace(file.find("| tail lost | wrong answer |"), 28, "| tail lost |");
  CHECK_THROWS_WITH(read_kills(file), test::contains("line 14 is malformed"));
  CHECK_THROWS_WITH(read_kills("nothing\n"), test::contains("line 1 "));
  CHECK_THROWS_AS(read_kills(""), UsageError);
  file = kills_text(ring_kills());
  file.replace(file.find("| 1, 3 |"), 8, "| one  |");
  CHECK_THROWS_WITH(read_kills(file), test::contains("is malformed"));
}

}  // namespace lockstep::grader
