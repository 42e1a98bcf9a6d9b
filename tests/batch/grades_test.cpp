#include "grader/batch/reports/grades.hpp"

#include <ctime>
#include <nlohmann/json.hpp>

#include "grader/batch/hand_ins/spreadsheet.hpp"
#include "grader/batch/processes/digest.hpp"
#include "grader/export/escaped.hpp"
#include "grader/export/gradebook.hpp"
#include "tests/catch.hpp"
#include "tests/export/made_up_book.hpp"

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
  const json grades = grades_of(
      {plan({student("a", {{"sha256", "1"}}), student("b", {{"missing", "there is no a"}}),
             student("c", {{"cause", "too_large"}, {"reason", "a, of 9 MB"}}),
             student("d", {{"sha256", "2"}})}),
       result("1", "pass", 10)});
  CHECK(grades_csv(grades) ==
        "student,exercise,verdict,points,max_points,cause,reason,judged_points,note,comment\n"
        "a,01_x/a,pass,10,10,,,10,,\n"
        "b,01_x/a,missing,0,10,missing,there is no a,0,,\n"
        "c,01_x/a,refused,0,10,too_large,\"a, of 9 MB\",0,,\n"
        "d,01_x/a,infrastructure,0,10,not_judged,,0,,\n");
  CHECK(totals_csv(grades) ==
        "student,points,max_points,graded,reason\n"
        "a,10,10,yes,\nb,0,10,yes,\nc,0,10,yes,\"a, of 9 MB\"\nd,0,10,no,\n");
}

TEST_CASE("grades: nothing handed in, nothing that counts and a refused hand-in are told apart") {
  const auto whole = [](const std::string& name, const std::string& cause,
                        const std::string& reason) {
    json one = student(name, json::object());
    one["cause"] = cause;
    one["reason"] = reason;
    return one;
  };
  json two =
      plan({whole("a", "missing", "no hand-in"), whole("b", "empty", "no file"),
            whole("c", "nothing_found", "did you mean x?"), whole("d", "bad_archive", "torn"),
            student("e", {{"cause", "twice"}, {"reason", "a is twice"}})});
  two["exercises"].push_back({{"exercise", "01_x/b"}, {"points", 5}});
  two["students"][4]["answers"]["01_x/b"] = {{"cause", "symbolic_link"}, {"reason", "a link"}};
  const json grades = grades_of({two});
  CHECK(totals_csv(grades) ==
        "student,points,max_points,graded,reason\n"
        "a,0,15,yes,no hand-in\nb,0,15,yes,no file\nc,0,15,yes,did you mean x?\n"
        "d,0,15,yes,torn\ne,0,15,yes,a is twice; and 1 other file is refused\n");
  const auto row = [&](std::size_t i) { return grades.at("students").at(i).at("rows").at(0); };
  for (const std::size_t i : {0u, 1u, 2u}) CHECK(row(i).at("verdict") == "missing");
  for (const std::size_t i : {3u, 4u}) CHECK(row(i).at("verdict") == "refused");
  CHECK(row(2).at("cause") == "nothing_found");
  const std::vector<json> records{two};
  const json report = StudentReports(records).of(grades.at("students").at(4));
  CHECK(report.at("rows").at(1).at("reason") == "a link");
}

TEST_CASE("grades: the roster's other columns go with each student, in their order") {
  json one = plan({student("a", json::object()), student("b", json::object())});
  one["columns"] = {"section", "Points", "e-mail"};
  one["students"][0]["about"] = {"B, late", "=1+1", "a@x.org"};
  const json grades = grades_of({one});
  CHECK(totals_csv(grades) ==
        "student,points,max_points,graded,reason,section,roster Points,e-mail\n"
        "a,0,10,yes,,\"B, late\",'=1+1,a@x.org\nb,0,10,yes,,,,\n");
  CHECK(grades.at("students").at(0).at("about").at("e-mail") == "a@x.org");
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
  CHECK(cell("of 5-3; see a=b") == "of 5-3; see a=b");
}

TEST_CASE("grades: nothing behind a separator of another country is a formula either") {
  for (const std::string sign : {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"}) {
    INFO(sign);
    CHECK(cell(sign + "1") == "'" + sign + "1");
    CHECK(cell("did you mean ;" + sign + "cmd|' /C calc'!A0;?") ==
          "did you mean ;'" + sign + "cmd|' /C calc'!A0;?");
    CHECK(cell("a;  " + sign + "1") == "a;  '" + sign + "1");
    CHECK(cell("a\t" + sign + "1;" + sign + "2") == "a\t'" + sign + "1;'" + sign + "2");
    CHECK(cell("a\n" + sign + "1") == "\"a\n'" + sign + "1\"");
    CHECK(cell("a\r" + sign + "1") == "\"a\r'" + sign + "1\"");
    CHECK(cell("a;\"" + sign + "1") == "\"a;\"\"'" + sign + "1\"");
    CHECK(cell("a;\u00a0" + sign + "1") == "a;\u00a0'" + sign + "1");
  }
}

TEST_CASE("grades: no table holds a formula, whatever archives, rosters and comments hold") {
  // A line of the table as a spreadsheet divides it that expects semicolons or tabs.
  const auto is_computed = [](const std::string& table) {
    bool at_beginning = true;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::string rest = table.substr(i, 3);
      if (at_beginning && (std::string("=+-@").find(table[i]) != std::string::npos ||
                           rest == "\uff1d" || rest == "\uff0b")) {
        return true;
      }
      at_beginning = std::string(";\t\n").find(table[i]) != std::string::npos ||
                     (at_beginning && table[i] == '"');
    }
    return false;
  };
  const std::string attack = "a;=cmd|' /C calc'!A0;\t\uff1dx;+y";
  CHECK(is_computed(attack));
  json one = plan({student("amy", {{"cause", "twice"}, {"reason", attack}}),
                   student("bob", {{"sha256", "1"}})});
  one["columns"] = {"name", attack};
  one["students"][0]["about"] = {attack, attack};
  one["students"][1]["cause"] = "nothing_found";
  one["students"][1]["reason"] = attack;
  const json decided = {{"record", "overrides"},
                        {"entries", json::array({{{"student", "amy"},
                                                  {"exercise", "01_x/a"},
                                                  {"points", 3},
                                                  {"comment", attack},
                                                  {"reason", attack}}})}};
  const std::vector<json> records{one, decided};
  const json grades = grades_of(records);
  ClassBook book{grades, {}, {}};
  for (const std::string& table :
       {grades_csv(grades), totals_csv(grades), gradebook_csv(book), canvas_csv(book)}) {
    INFO(table);
    CHECK(table.find("cmd|") != std::string::npos);
    CHECK_FALSE(is_computed(table));
  }
}

TEST_CASE("grades: a class of twenty thousand takes seconds, not the square of them") {
  json students = json::array(), entries = json::array();
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = "s" + std::to_string(i);
    students.push_back(student(name, {{"sha256", "1"}}));
    entries.push_back({{"student", name},
                       {"exercise", "01_x/a"},
                       {"points", nullptr},
                       {"comment", "well argued"},
                       {"reason", ""}});
  }
  std::vector<json> records{plan(students), {{"record", "overrides"}, {"entries", entries}}};
  for (int i = 0; i < 1000; ++i) records.push_back(result(std::to_string(i), "pass", 10));
  const std::clock_t before = std::clock();
  const json grades = grades_of(records);
  const StudentReports reports(records);
  std::size_t rows = 0;
  for (const json& one : grades.at("students")) rows += reports.of(one).at("rows").size();
  CHECK(rows == 20'000);
  CHECK(std::clock() - before < 15 * CLOCKS_PER_SEC);
}

TEST_CASE("digest: SHA-256 and the seeds that come of it") {
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(seed_of("secret", "a") != seed_of("secret", "b"));
  CHECK(seed_of("secret", "a") != seed_of("Secret", "a"));
  CHECK(seed_of("secret", "a") < (std::uint64_t{1} << 53));
  CHECK(random_secret().size() == 65);
}

TEST_CASE("gradebooks: read back as tables, every cell is the book's, whatever is written in it") {
  ClassBook book = lockstep::test::made_up_book();
  json& about = book.grades["students"][0]["about"];
  about["name"] = lockstep::test::nasty + "\n, \"Esq.\"";
  for (const std::string& table : {gradebook_csv(book), canvas_csv(book)}) {
    const auto lines = read_spreadsheet(table, "the table");
    const bool canvas = lines.front().cells.front() == "Student";
    const std::size_t students_from = canvas ? 2 : 1;
    REQUIRE(lines.size() == students_from + 3);
    for (const auto& line : lines) CHECK(line.cells.size() == lines.front().cells.size());
    const std::size_t name = column_called(lines.front().cells, canvas ? "Student" : "name");
    CHECK(lines[students_from].cells.at(name) == about.at("name").get<std::string>());
    for (std::size_t i = 0; i < 3; ++i) {
      for (const json& row : book.grades["students"][i]["rows"]) {
        const std::size_t column = column_called(lines.front().cells, row.at("exercise"));
        const std::string cell = lines[students_from + i].cells.at(column);
        CHECK(cell == (is_open(row) ? "" : std::to_string(row.at("points").get<int>())));
      }
    }
  }
}
