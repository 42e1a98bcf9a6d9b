// What a person asks for beside the judge's results: overrides, lateness, a second judgement.
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/batch/policy/overrides.hpp"
#include "grader/batch/policy/pseudonyms.hpp"
#include "grader/batch/policy/regrade.hpp"
#include "grader/batch/reports/grades.hpp"
#include "grader/batch/run/current_results.hpp"
#include "grader/batch/run/plan.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using nlohmann::json;

namespace {

const Course& the_course() {
  static const Course course = read_course(LOCKSTEP_ROOT "/exercises/course.toml");
  return course;
}

const std::string ring_part = "06_all_reduce/ring_all_reduce",
                  tree_part = "06_all_reduce/tree_all_reduce";

json planned_student(const std::string& name, const std::string& ring_sha,
                     const std::string& tree_sha) {
  return {{"student", name},
          {"cause", ""},
          {"reason", ""},
          {"on_roster", true},
          {"answers", {{ring_part, {{"sha256", ring_sha}}}, {tree_part, {{"sha256", tree_sha}}}}}};
}

json plan_of_two() {
  return {{"record", "plan"},
          {"exercises", json::array({{{"exercise", ring_part}, {"points", 20}},
                                     {{"exercise", tree_part}, {"points", 10}}})},
          {"students",
           json::array({planned_student("amy", "1", "2"), planned_student("bob", "1", "3")})}};
}

json judged_as(const std::string& exercise, const std::string& sha, int points) {
  return {{"record", "result"}, {"exercise", exercise},
          {"sha256", sha},      {"verdict", points > 0 ? "pass" : "time"},
          {"points", points},   {"max_points", 20},
          {"cause", ""},        {"report", json::object()}};
}

std::vector<json> two_judged_as() {
  return {plan_of_two(), judged_as(ring_part, "1", 20), judged_as(tree_part, "2", 10),
          judged_as(tree_part, "3", 0)};
}

json row_in(const std::vector<json>& records, std::size_t student, std::size_t exercise) {
  return grades_of(records).at("students").at(student).at("rows").at(exercise);
}

json late_record() {
  return {{"record", "late"},
          {"deadline", 1'000'000},
          {"zone_minutes", 0},
          {"loss_per_day", 15},
          {"cap", 50},
          {"days_max", nullptr},
          {"grace_minutes", 0},
          {"deadlines", json::object()},
          {"extensions", json::object()},
          {"from", "mtime"}};
}

}  // namespace

TEST_CASE("overrides: points and comments are merged with their reasons") {
  const Overrides overrides = read_overrides(
      "Student;points;exercise;reason;comment\n"
      "amy;7;ring_all_reduce;the task was misleading;well argued\n"
      "bob;;;;see me\n",
      "overrides.csv", the_course());
  json record = json_of(overrides);
  record["record"] = "overrides";
  std::vector<json> records = two_judged_as();
  records.push_back(record);
  const json amy = grades_of(records).at("students").at(0);
  CHECK(amy.at("points") == 17);
  CHECK(amy.at("rows").at(0).at("points") == 7);
  CHECK(amy.at("rows").at(0).at("judged_points") == 20);
  CHECK(amy.at("rows").at(0).at("verdict") == "pass");
  CHECK(amy.at("rows").at(0).at("note") == "set by hand to 7: the task was misleading");
  CHECK(amy.at("rows").at(0).at("comment") == "well argued");
  CHECK(grades_of(records).at("students").at(1).at("comment") == "see me");
  CHECK_THAT(grades_csv(grades_of(records)),
             test::contains("amy,06_all_reduce/ring_all_reduce,pass,7,20,,,20,set by hand to 7: "
                            "the task was misleading,well argued\n"));
  CHECK_THROWS_WITH(refuse_strangers(overrides, {"amy", "bobo"}),
                    "overrides.csv's line 3: column student: there is no student bob; did you "
                    "mean bobo?");
}

TEST_CASE("overrides: what is wrong is said with line, column and what is expected") {
  const auto says = [](const std::string& lines, const std::string& part_of_it) {
    INFO(lines);
    CHECK_THROWS_WITH(
        read_overrides("student,exercise,points,comment,reason\n" + lines, "o.csv", the_course()),
        test::contains(part_of_it));
  };
  says("amy,ring_all_reduce,8,,\n", "o.csv's line 2: column reason: expected why the points");
  says("amy,ring_al_reduce,8,,x\n", "o.csv's line 2: column exercise: ");
  says("amy,ring_al_reduce,8,,x\n", "ring_all_reduce");
  says("amy,,8,,x\n", "o.csv's line 2: column exercise: expected the exercise");
  says(",ring_all_reduce,8,,x\n", "o.csv's line 2: column student: expected");
  says("amy,ring_all_reduce,1000,,x\n", "column points: expected a whole number from 0 to ");
  says("amy,ring_all_reduce,-1,,x\n", "and it says '-1'");
  says("amy,ring_all_reduce,,,x\n", "column points: expected points, or a text in the column");
  says("amy,,,hi,\nbob,,,a, b,\n", "line 3: it has 6 cells");
  says("amy,ring_all_reduce,1,,x\n\namy,ring_all_reduce,2,,y\n", "line 4: it speaks of the same");
  CHECK_THROWS_WITH(read_overrides("who,points\n", "o.csv", the_course()),
                    test::contains("o.csv's line 1: there is no column 'who'"));
  CHECK_THROWS_WITH(read_overrides("exercise,points\n", "o.csv", the_course()),
                    test::contains("there is no column student"));
}

TEST_CASE("late: points are lost by the journal alone, and points set by hand are not") {
  std::vector<json> records = two_judged_as();
  records.push_back(late_record());
  records.push_back({{"record", "hand_in_times"},
                     {"from", "mtime"},
                     {"times",
                      {{"amy", {{ring_part, {1'000'001, "1"}}, {tree_part, {1'000'000, "2"}}}},
                       {"bob", {{ring_part, {2'000'000, "1"}}}}}}});
  CHECK(row_in(records, 0, 0).at("points") == 17);
  CHECK(row_in(records, 0, 0).at("days_late") == 1);
  CHECK(row_in(records, 0, 0).at("note") ==
        "1 day late (handed in 1970-01-12 13:46:41 +00:00, due 1970-01-12 13:46:40 +00:00): "
        "15 % lost");
  CHECK(row_in(records, 0, 1).at("points") == 10);
  CHECK(row_in(records, 1, 0).at("points") == 10);  // the cap
  CHECK(row_in(records, 1, 1).at("days_late") == 0);
  records.push_back({{"record", "overrides"},
                     {"entries", json::array({{{"student", "bob"},
                                               {"exercise", ring_part},
                                               {"points", 19},
                                               {"comment", ""},
                                               {"reason", "ill"}}})}});
  CHECK(row_in(records, 1, 0).at("points") == 19);
  CHECK_THAT(row_in(records, 1, 0).at("note").get<std::string>(),
             test::contains("50 % lost; set by hand to 19: ill"));
}

TEST_CASE("regrade: names files of a student, or everybody's, and ends their results") {
  const json plan = plan_of_two();
  const auto files = [&](const std::string& list) {
    return regrade_record(read_regrades(list, the_course()), plan).at("files").size();
  };
  CHECK(files("amy") == 2);
  CHECK(files("amy/ring_all_reduce") == 1);
  CHECK(files("amy/06,bob/tree_all_reduce") == 3);
  CHECK(files("*/ring_all_reduce") == 1);  // both handed in the same
  CHECK(files("*") == 3);
  CHECK_THROWS_WITH(files("amu"), test::contains("did you mean amy?"));
  CHECK_THROWS_WITH(files("amy/send_recv_x"), test::contains("send_recv_x"));
  CHECK_THROWS_WITH(files("amy/05"), test::contains("nothing of that was handed in"));
  CHECK_THROWS_WITH(files("/05"), test::contains("amy,bob/ring_all_reduce"));

  std::vector<json> records = two_judged_as();
  records.push_back(regrade_record(read_regrades("bob/tree_all_reduce", the_course()), plan));
  CHECK(current_results(records).size() == 2);
  CHECK(row_in(records, 1, 1).at("cause") == "not_judged");
  records.push_back(judged_as(tree_part, "3", 10));
  CHECK(row_in(records, 1, 1).at("points") == 10);
}

TEST_CASE("versions: results of another version of an exercise end, and only those") {
  std::vector<json> records = two_judged_as();
  const auto version = [](const char* of_ring, const char* of_tree) {
    return json{{"record", "versions"},
                {"exercises", {{ring_part, of_ring}, {tree_part, of_tree}}}};
  };
  records.insert(records.begin(), version("a", "b"));
  CHECK(current_results(records).size() == 3);
  records.push_back(version("a", "c"));
  CHECK(current_results(records).size() == 1);
  CHECK(mixed_exercises(read_regrades("*/tree_all_reduce", the_course()), {tree_part}).empty());
  CHECK(mixed_exercises(read_regrades("*", the_course()), {ring_part, tree_part}).empty());
  CHECK(mixed_exercises(read_regrades("amy", the_course()), {tree_part}).size() == 1);
}

TEST_CASE("plan: when some are taken in, the others stay as they were") {
  json plan = plan_of_two();
  plan["students"] = json::array({planned_student("bob", "9", "9")});
  Roster roster;
  roster.columns = {"name"};
  roster.students["amy"] = {"Amy A."};
  const json merged = with_others(plan, plan_of_two(), {"bob"}, roster);
  REQUIRE(merged.at("students").size() == 2);
  CHECK(merged.at("students").at(0).at("student") == "amy");
  CHECK(merged.at("students").at(0).at("about").at(0) == "Amy A.");
  CHECK(merged.at("students").at(1).at("answers").at(ring_part).at("sha256") == "9");
}

TEST_CASE("pseudonyms: the name is nowhere, and other words stay") {
  const json grades = {{"student", "amy"},
                       {"about", {{"e-mail", "amy@example.org"}}},
                       {"reason", "two hand-ins, hw_amy.zip and amy.tar, of amyloid"}};
  const json hidden = under_pseudonym(grades, "secret");
  const std::string name = hidden.at("student");
  CHECK(name == pseudonym("secret", "amy"));
  CHECK(name != pseudonym("other", "amy"));
  CHECK(hidden.at("reason") ==
        "two hand-ins, hw_" + name + ".zip and " + name + ".tar, of amyloid");
  CHECK(hidden.at("about").empty());
}
