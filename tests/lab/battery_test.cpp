#include "grader/dev/battery.hpp"

#include "tests/catch.hpp"

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

}  // namespace lockstep::grader
