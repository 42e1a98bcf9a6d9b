#include "grader/dev/battery.hpp"

#include "grader/course/text/text_file.hpp"
#include "grader/dev/contract_rows.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

namespace lockstep::grader {
namespace {

Exercise exercise_of(const std::string& battery, std::map<std::string, std::string> not_asked) {
  Exercise exercise;
  exercise.battery = battery;
  exercise.not_asked = std::move(not_asked);
  return exercise;
}

}  // namespace

TEST_CASE("a battery: an unknown kind, an unknown exception and one without a reason are told") {
  const Report nothing;
  CHECK_THAT(holes_of_battery(exercise_of("functions", {}), nothing).at(0),
             test::contains("no battery 'functions'"));
  const auto holes = holes_of_battery(exercise_of("function", {{"weather", "none"}}), nothing);
  CHECK_THAT(holes.back(), test::contains("[not_asked] names weather"));
}

TEST_CASE("situations: each has a name of its own, which is found again, and a sentence") {
  for (int i = 0; i < situation_count; ++i) {
    const auto situation = static_cast<Situation>(i);
    CHECK(situation_named(name_of(situation)) == situation);
    CHECK_FALSE(sentence_of(situation).empty());
  }
  CHECK_FALSE(situation_named("weather"));
}

TEST_CASE("a contract's rows: a name is part of that of one check, which played a case") {
  const test::Scratch scratch;
  Lab lab;
  lab.places = {scratch.path(), scratch.path() / "build"};
  Exercise ring;
  ring.name = "ring";
  ring.lesson = "06_x";
  ring.header = "ring.hpp";
  ring.symbols = {"ring()"};
  write_text(scratch.path() / ring.header,
             "// Sums.\n//   Ensures  sums; bits\n//   Throws   Error\nvoid ring();\n");
  write_text(
      scratch.path() / "tests/exercises/06_x/ring/contract.toml",
      "[checks]\n'ring Ensures 1' = ['values', 'costs']\n'ring Ensures 2' = ['ring', 'lost']\n"
      "[unchecked]\n'ring Throws 1' = 'why'\n");
  Report report;
  for (const char* name : {"the values of a ring", "what a ring costs", "a peer is lost"}) {
    report.checks.emplace_back().name = name;
    report.checks.back().cases = report.checks.size() == 3 ? 0 : 1;
  }
  const ContractRows contract = contract_rows(lab, ring, report);
  CHECK(contract.rows == std::vector<SentenceRow>{{"ring Ensures 1", "sums", {1, 2}, ""},
                                                  {"ring Throws 1", "Error", {}, "why"}});
  REQUIRE(contract.holes.size() == 2);
  CHECK_THAT(contract.holes[0], test::contains("\"ring\" is part of the names of 2 checks"));
  CHECK_THAT(contract.holes[1], test::contains("\"lost\" is part of the names of 0 checks"));
}

}  // namespace lockstep::grader
