// Quiz files as a careless or hostile class hands them in: none is the lab's trouble.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/quiz/questions.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const fs::path course_root = LOCKSTEP_ROOT;
const std::string quiz_file = "03_collectives/quiz.toml";

std::string repeated(const std::string& words, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += words;
  return all;
}

std::string changed(std::string content, const std::string& what, const std::string& to) {
  const std::size_t at = content.find(what);
  if (at == std::string::npos) throw Error("the quiz has no " + what);
  return content.replace(at, what.size(), to);
}

std::string as_utf16(const std::string& content) {
  std::string out = "\xff\xfe";
  for (const char c : content) out.append(1, c).push_back('\0');
  return out;
}

struct Variant {
  std::string content, verdict, says;
};

// By student.
std::map<std::string, Variant> variants() {
  const std::string stub = quiz_for_students(course_root / "solutions" / quiz_file);
  const std::string answer = "answer = \"\"";
  const std::string head = "[[question]]\nid = \"order\"\n";
  return {
      {"answer_is_a_date", {changed(stub, answer, "answer = 2024-01-01"), "wrong answer", ""}},
      {"answer_is_a_list", {changed(stub, answer, "answer = [\"a\"]"), "wrong answer", ""}},
      {"answer_is_long",
       {changed(stub, answer, "answer = \"" + repeated("e b ", 200'000) + "\""), "wrong answer",
        ""}},
      {"answer_is_nan", {changed(stub, answer, "answer = nan"), "wrong answer", ""}},
      {"answer_is_missing", {changed(stub, answer, ""), "unsolved", ""}},
      {"brackets", {"x = " + repeated("[", 300), "refused", "brackets are open at once"}},
      {"byte_order_mark", {"\xef\xbb\xbf" + stub, "unsolved", ""}},
      {"dotted_header", {"[" + repeated("a.", 200'000) + "a]\n", "refused", "more than 16 parts"}},
      {"dotted_key", {repeated("a.", 200'000) + "a = 1\n", "refused", "more than 16 parts"}},
      {"empty", {"", "refused", "has no [[question]]; ./lab reset 03_collectives/quiz"}},
      {"hidden_dots",
       {"x = [\"\"\"a\"\"\"\", {" + repeated("a.", 100'000) + "a = 1}]\n", "refused",
        "more than 16 parts"}},
      {"id_is_a_number",
       {changed(stub, "id = \"order\"", "id = 5"), "refused", "has no question with id \"order\""}},
      {"latin_1", {changed(stub, answer, "answer = \"\xe9\""), "refused", "save it as UTF-8"}},
      {"missing_quote",
       {changed(stub, answer, "answer = \"e b"), "refused", "is a closing quote missing?"}},
      {"no_questions", {"# nothing yet\n", "refused", "has no [[question]]"}},
      {"no_toml", {"Dear teacher,\nmy answers are a and b.\n", "refused", "not valid TOML"}},
      {"nul_bytes", {stub + std::string(3, '\0'), "refused", "not valid TOML"}},
      {"one_table", {"[question]\nid = \"order\"\n", "refused", "question is not a list"}},
      {"question_is_text", {"question = \"x\"\n", "refused", "question is not a list"}},
      {"question_twice", {head + "answer = \"\"\n" + stub, "unsolved", ""}},
      {"questions_of_text", {"question = [\"a\", 5]\n", "refused", "has no question with id"}},
      {"title_is_a_number",
       {changed(stub, "title = \"a tree in an order that works\"", "title = 5"), "unsolved", ""}},
      {"too_many", {repeated("[[question]]\n", 5000), "refused", "more than 1000 questions"}},
      {"utf_16", {as_utf16(stub), "refused", "it is saved as UTF-16"}},
      {"windows", {changed(repeated(stub, 1), "\n", "\r\n"), "unsolved", ""}}};
}

json row_of(const fs::path& out, const std::string& student) {
  return json::parse(read_text(out / "students" / (student + ".json"))).at("rows").at(0);
}

}  // namespace

TEST_CASE("grade: a quiz that cannot be read is its student's, with the file's name and no other") {
  const test::Scratch scratch;
  const auto all = variants();
  for (const auto& [student, variant] : all) {
    write_text(scratch.path() / "class" / student / quiz_file, variant.content);
  }
  write_text(scratch.path() / "seed", "a seed for tests that is no secret\n");
  fs::permissions(scratch.path() / "seed", fs::perms(0600));
  const auto graded = [&](const std::string& out) {
    return run_command({LOCKSTEP_TOOL, "grade", (scratch.path() / "class").string(), "--out",
                        (scratch.path() / out).string(), "--exercises", "03_collectives/quiz",
                        "--seed-file", (scratch.path() / "seed").string()},
                       scratch.path(), lockstep::test::patient);
  };
  const CommandResult result = graded("out");
  if (result.exit_code == 3) {
    std::cout << "NO SANDBOX HERE: " << result.output << "\n";
    return;
  }
  INFO(result.output);
  CHECK(result.exit_code == 0);
  for (const auto& [student, variant] : all) {
    const json row = row_of(scratch.path() / "out", student);
    const std::string message = row.at("message");
    std::cout << student << ": " << row.at("verdict").get<std::string>() << ": " << message << "\n";
    INFO(student << ": " << message);
    CHECK(row.at("verdict") == variant.verdict);
    CHECK_THAT(message, test::contains(variant.says));
    CHECK_THAT(message, !test::contains("/tmp"));
    if (variant.verdict != "refused") continue;
    CHECK(row.at("cause") == "unreadable");
    CHECK(message.starts_with("work/03_collectives/quiz.toml"));
  }
  REQUIRE(graded("again").exit_code == 0);
  for (const char* file : {"grades.json", "grades.csv", "totals.csv"}) {
    CHECK(read_text(scratch.path() / "again" / file) == read_text(scratch.path() / "out" / file));
  }
}

TEST_CASE(
    "grade: a formula that is slow, long or breaks its reader costs its answer, not the quiz") {
  const test::Scratch scratch;
  const std::string right = answered_quiz(course_root / "solutions" / quiz_file);
  const std::map<std::string, std::string> formulas{
      {"slow", "L" + repeated("^L", 500)},
      {"long", "L" + repeated("^L", 8000)},
      {"deep", repeated("(", 500) + "L" + repeated(")", 500)},
      {"abrupt", repeated("sin(-", 200)}};
  for (const auto& [student, formula] : formulas) {
    write_text(scratch.path() / "class" / student / quiz_file,
               with_answer(right, "tree_time", formula));
  }
  const CommandResult result =
      run_command({LOCKSTEP_TOOL, "grade", (scratch.path() / "class").string(), "--out",
                   (scratch.path() / "out").string(), "--exercises", "03_collectives/quiz"},
                  scratch.path(), lockstep::test::patient);
  if (result.exit_code == 3) {
    std::cout << "NO SANDBOX HERE: " << result.output << "\n";
    return;
  }
  INFO(result.output);
  CHECK(result.exit_code == 0);
  for (const auto& [student, formula] : formulas) {
    const json row = row_of(scratch.path() / "out", student);
    INFO(student << ": " << row.dump(1));
    std::size_t wrong = 0;
    const std::size_t all = row.at("checks").size();
    for (const json& check : row.at("checks")) wrong += check.at("verdict") != "pass" ? 1u : 0u;
    CHECK(wrong == 1);
    CHECK(row.at("verdict") == "wrong answer");
    CHECK(row.at("points") == row.at("max_points").get<std::size_t>() * (all - 1) / all);
  }
  for (const json& each : json::parse(read_text(scratch.path() / "out" / "times.json"))) {
    CHECK(each.at("seconds").at("processor").get<double>() < 5);
  }
}
