// Which files are judged, and by which cases.
#include "grader/batch/run/plan.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

Exercise named(const std::string& name) {
  Exercise exercise;
  exercise.lesson = "05_x";
  exercise.name = name;
  return exercise;
}

Submission handed_in(const std::string& student, const Exercise& exercise,
                     const std::string& content) {
  Submission submission;
  submission.student = student;
  submission.answers[exercise.address()] = {Answer::State::handed_in, content, "", ""};
  return submission;
}

}  // namespace

TEST_CASE("plan: each file has its own cases, and the same file the same") {
  const Exercise a = named("a"), b = named("b");
  const auto seeds = [&](const std::string& secret, const std::vector<Submission>& class_of) {
    std::map<std::pair<std::string, std::string>, std::uint64_t> all;
    for (const PlannedUnit& each : units_left({&a, &b}, class_of, {}, secret)) {
      all[{each.unit.exercise->name, each.unit.content}] = each.unit.seed;
    }
    return all;
  };
  const auto first = seeds("secret", {handed_in("amy", a, "x"), handed_in("bob", a, "y"),
                                      handed_in("cid", a, "x"), handed_in("dee", b, "x")});
  REQUIRE(first.size() == 3);
  // A table of what one hand-in's cases expect is another file, which meets other cases.
  CHECK(first.at({"a", "x"}) != first.at({"a", "y"}));
  CHECK(first.at({"a", "x"}) != first.at({"b", "x"}));
  const auto again = seeds("secret", {handed_in("eve", a, "x")});
  CHECK(again.at({"a", "x"}) == first.at({"a", "x"}));
  CHECK(seeds("other", {handed_in("amy", a, "x")}).at({"a", "x"}) != first.at({"a", "x"}));
}
