#include "grader/batch/grades.hpp"

#include <nlohmann/json.hpp>

#include "grader/batch/digest.hpp"
#include "tests/catch.hpp"

using namespace lockstep::grader;
using nlohmann::json;

namespace {

json plan(const json& students) {
  return {{"record", "plan"},
          {"exercises", json::array({{{"exercise", "01_x/a"}, {"points", 10}}})},
          {"students", students}};
}

json student(const std::string& name, const json& answer) {
  return {{"student", name},
          {"cause", ""},
          {"reason", ""},
          {"on_roster", true},
          {"answers", {{"01_x/a", answer}}}};
}

json result(const std::string& sha, const std::string& verdict, int points) {
  return {{"record", "result"}, {"exercise", "01_x/a"},    {"sha256", sha},
          {"verdict", verdict}, {"points", points},        {"max_points", 10},
          {"cause", ""},        {"report", json::object()}};
}

}  // namespace

TEST_CASE("grades: every student of the plan has a row, also without a result") {
  const json grades =
      grades_of({plan({student("a", {{"sha256", "1"}}), student("b", json::object()),
                       student("c", {{"cause", "too_large"}, {"reason", "big"}}),
                       student("d", {{"sha256", "2"}})}),
                 result("1", "pass", 10)});
  CHECK(grades_csv(grades) ==
        "student,exercise,verdict,points,max_points,cause\n"
        "a,01_x/a,pass,10,10,\n"
        "b,01_x/a,missing,0,10,missing\n"
        "c,01_x/a,refused,0,10,too_large\n"
        "d,01_x/a,infrastructure,0,10,not_judged\n");
  CHECK(totals_csv(grades) ==
        "student,points,max_points,graded,reason\n"
        "a,10,10,yes,\nb,0,10,yes,\nc,0,10,yes,\nd,0,10,no,\n");
}

TEST_CASE("grades: the last plan and the last result of a file count") {
  const json grades = grades_of({plan(json::array({student("a", {{"sha256", "1"}})})),
                                 result("2", "infrastructure", 0), result("2", "efficiency", 6),
                                 plan(json::array({student("a", {{"sha256", "2"}})}))});
  CHECK(grades.at("students").at(0).at("points") == 6);
}

TEST_CASE("grades: a cell is never a formula, and keeps its columns") {
  CHECK(cell("=HYPERLINK(\"x\")") == "\"'=HYPERLINK(\"\"x\"\")\"");
  CHECK(cell("+1") == "'+1");
  CHECK(cell("-1") == "'-1");
  CHECK(cell("@a") == "'@a");
  CHECK(cell("a,b") == "\"a,b\"");
  CHECK(cell("plain") == "plain");
}

TEST_CASE("digest: SHA-256 and the seeds that come of it") {
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(seed_of("secret", "a") != seed_of("secret", "b"));
  CHECK(seed_of("secret", "a") != seed_of("Secret", "a"));
  CHECK(seed_of("secret", "a") < (std::uint64_t{1} << 53));
  CHECK(random_secret().size() == 65);
}
