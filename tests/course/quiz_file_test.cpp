// The one file that a quiz is: what is read of it, what students get of it, and what is refused.
#include "grader/course/quiz/file.hpp"

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/one_question.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct QuizOnDisk {
  explicit QuizOnDisk(const std::string& content)
      : file(scratch.path() / "06_rings" / "quiz.toml") {
    write_text(file, content);
  }
  test::Scratch scratch;
  fs::path file;
};

json rules_of(const std::string& content) {
  const QuizOnDisk written(content);
  return quiz_rules(written.file).at("question").at(0);
}

// Lines 1 to 6 are those of one_question().
const std::string seven_gigabytes = "type = \"number\"\nanswer = \"7 GB\"   # a number\n";
const std::string choice_of_three =
    "type = \"choice\"\noptions = [\"a  one\", \"b  two\", \"c  three\"]\nanswer = \"b\"\n"
    "[question.wrong]\n";
const std::string order_of_two =
    "type = \"order\"\noptions = [\"a  one\", \"b  two\"]\nanswer = \"a b\"\n";
const std::string doubling =
    "type = \"formula\"\nanswer = \"2*N\"\nvariables = { N = [2, 9] }\notherwise = \"no\"\n";

// One sentence with that line.
void refused(const std::string& content, int line, const std::string& problem) {
  const QuizOnDisk written(content);
  INFO(content);
  CHECK_THROWS_WITH(quiz_rules(written.file),
                    test::contains(text("06_rings/quiz.toml:", line, ": ")) &&
                        test::contains(problem) && !test::contains("\n"));
}

}  // namespace

TEST_CASE("a quiz's file: the answer is the right one, and what it tells is not written again") {
  const json bytes = rules_of(test::one_question(seven_gigabytes + "otherwise = \"no\"\n"));
  CHECK(bytes.at("value") == 7);
  CHECK(bytes.at("unit") == "GB");
  const json binary = rules_of(test::one_question(
      "type = \"number\"\nanswer = \"64 MiB\"\nunit = \"MB\"\notherwise = \"no\"\n"));
  CHECK(binary.at("value") == 67.108864);
  const json rounded =
      rules_of(test::one_question("type = \"number\"\nanswer = \"17.9\"\nvalue = 17.94\ntolerance "
                                  "= 0.01\notherwise = \"no\"\n"));
  CHECK(rounded.at("value") == 17.94);
  CHECK_FALSE(rounded.contains("unit"));
  const json one = rules_of(test::one_question(choice_of_three + "a = \"x\"\nc = \"y\"\n"));
  CHECK(one.at("right") == "b");
  CHECK(one.at("wrong") == json{{"a", "x"}, {"c", "y"}});
  const json two = rules_of(test::one_question(
      order_of_two + "edge = [ { before = \"a\", after = \"b\", because = \"x\" } ]\n"));
  CHECK(two.at("steps") == "ab");
  CHECK(rules_of(test::one_question(doubling)).at("formula") == "2*N");
}

TEST_CASE("a quiz's file: students get the lines down to each answer, and no answer") {
  const std::string second =
      "\n# A comment.\n[[question]]\nid = \"r\"\ntitle = \"t\"\ntext = \"\"\"\n"
      "[[question]]\nanswer = \"not this one\"\"\"\"\n" +
      choice_of_three + "a = \"secret\"\nc = \"too\"\n";
  const QuizOnDisk written(test::one_question(seven_gigabytes + "otherwise = \"never told\"\n") +
                           second);
  const std::string head =
      "# Questions on lesson 06, tests. Write your answers between the quotes, save, and type\n"
      "#   ./lab check 06_rings/quiz\n"
      "# Questions without an answer are skipped; a wrong answer gets a reason.\n\n";
  const std::string blank =
      head +
      "[[question]]\nid = \"q\"\ntitle = \"t\"\ntext = \"what?\"\ntype = \"number\"\n"
      "answer = \"\"   # a number\n\n"
      "[[question]]\nid = \"r\"\ntitle = \"t\"\ntext = \"\"\"\n[[question]]\n"
      "answer = \"not this one\"\"\"\"\ntype = \"choice\"\n"
      "options = [\"a  one\", \"b  two\", \"c  three\"]\nanswer = \"\"\n";
  CHECK(quiz_for_students(written.file) == blank);
  std::string answered = blank;
  answered.replace(answered.find("answer = \"\""), 11, "answer = \"7 GB\"");
  answered.replace(answered.rfind("answer = \"\""), 11, "answer = \"b\"");
  CHECK(answered_quiz(written.file) == answered);
}

TEST_CASE("a quiz's file: no rule stands where students would see it") {
  refused(test::one_question("type = \"number\"\notherwise = \"no\"\nanswer = \"7\"\n"), 8,
          "'otherwise' stands above the answer, where students see it");
  refused(
      "about = \"tests\"\n[[question]]\nid = \"q\"\ntitle = \"t\"\ntype = \"number\"\n"
      "answer = \"7\"\ntext = \"what?\"\notherwise = \"no\"\n",
      7, "'text' stands below the answer, where students lack it");
  const QuizOnDisk two_lines(
      test::one_question("type = \"number\"\nanswer = \"\"\"7\"\"\"\notherwise = \"no\"\n"));
  CHECK_THROWS_WITH(quiz_for_students(two_lines.file),
                    test::contains("quiz.toml:8: write the answer"));
}

TEST_CASE("a quiz's file: two keys for one question") {
  const std::string once = test::one_question(seven_gigabytes + "otherwise = \"no\"\n");
  refused(once + "[[question]]\nid = \"q\"\ntitle = \"t\"\ntext = \"x\"\n" + seven_gigabytes +
              "otherwise = \"no\"\n",
          11, "the question \"q\" is already on line 4");
  const QuizOnDisk twice(once + "otherwise = \"yes\"\n");
  CHECK_THROWS_WITH(quiz_rules(twice.file), test::contains("quiz.toml:10: "));
  refused(test::one_question(choice_of_three + "a = \"x\"\nc = \"y\"\nb = \"z\"\n"), 13,
          "option b is the answer, so it cannot be wrong, too");
}

TEST_CASE("a quiz's file: a missing reason") {
  refused(test::one_question(choice_of_three + "a = \"x\"\n"), 10,
          "option c is wrong, and has no reason");
  refused(test::one_question(seven_gigabytes), 3, "'otherwise' is missing");
  refused(test::one_question(seven_gigabytes + "otherwise = \"\"\n"), 9, "'otherwise' is empty");
  refused(
      test::one_question(seven_gigabytes + "otherwise = \"no\"\n[[question.mistake]]\nvalue = 8\n"),
      10, "a wrong answer has no reason: 'because' is missing");
  refused(test::one_question(order_of_two + "edge = [ { before = \"a\", after = \"b\" } ]\n"), 10,
          "a wrong answer has no reason: 'because' is missing");
}

TEST_CASE("a quiz's file: an answer that its own mistakes equal") {
  const auto mistake = [](const std::string& what) {
    return "[[question.mistake]]\n" + what + "\nbecause = \"x\"\n";
  };
  refused(test::one_question(seven_gigabytes + "tolerance = 0.01\notherwise = \"no\"\n" +
                             mistake("value = 7.05")),
          12, "the mistake 7.05 GB equals the answer \"7 GB\"");
  refused(test::one_question(doubling + mistake("formula = \"N + N\"")), 12,
          "the mistake N + N equals the answer \"2*N\"");
  refused(test::one_question(doubling + mistake("formula = \"M\"")), 12, "gets a different reason");
  refused(test::one_question(seven_gigabytes + "otherwise = \"no\"\n" + mistake("value = 8") +
                             "[[question.mistake]]\nvalue = 8\nbecause = \"y\"\n"),
          14, "the mistake 8 GB gets a different reason: x");
  refused(test::one_question(order_of_two +
                             "edge = [ { before = \"b\", after = \"a\", because = \"x\" } ]\n"),
          9, "the answer \"a b\" is judged wrong: a comes before b: x");
  refused(test::one_question(doubling + "also = [\"3*N\"]\n"), 11, "\"3*N\" is judged wrong: no");
}

TEST_CASE("a quiz's file: an option that does not exist") {
  refused(test::one_question(choice_of_three + "a = \"x\"\nc = \"y\"\nd = \"z\"\n"), 13,
          "there is a reason for option d, which does not exist");
  refused(test::one_question("type = \"choice\"\noptions = [\"a  one\"]\nanswer = \"b\"\n"), 9,
          "the answer \"b\" is no option's letter");
  refused(test::one_question(order_of_two +
                             "edge = [ { before = \"a\", after = \"e\", because = \"x\" } ]\n"),
          10, "an edge names option e, which does not exist");
  refused(
      test::one_question("type = \"choice\"\noptions = [\"a  one\", \"c  two\"]\nanswer = \"a\"\n"),
      8, "option 2 must begin with \"b\"");
}

TEST_CASE("a quiz's file: keys that are missing, unknown or of another kind") {
  refused("[[question]]\n", 1, "'about' is missing");
  refused("about = \"x\"\nquestions = 3\n", 2, "unknown key 'questions'; did you mean question?");
  refused("about = \"x\"\n", 1, "there is no [[question]]");
  refused("about = \"x\"\nquestion = 3\n", 2, "'question' must be a list of tables");
  refused(test::one_question("type = \"riddle\"\nanswer = \"b\"\n"), 7,
          "there is no type 'riddle'");
  refused(test::one_question(seven_gigabytes + "otherwise = \"no\"\ntolerence = 1\n"), 10,
          "unknown key 'tolerence'; did you mean tolerance?");
  refused(test::one_question(seven_gigabytes + "otherwise = 3\n"), 9,
          "'otherwise' must be a text in quotes");
  refused(test::one_question("type = \"number\"\nanswer = \"seven\"\notherwise = \"no\"\n"), 8,
          "the answer \"seven\" is not a number");
  refused(test::one_question(seven_gigabytes + "otherwise = \"no\"\nunit = \"apples\"\n"), 10,
          "\"apples\" is no unit of bytes");
  refused(test::one_question("type = \"formula\"\nanswer = \"N\"\nvariables = { N = 3 }\n"
                             "otherwise = \"no\"\n"),
          9, "N needs a range");
  const QuizOnDisk no_toml("about = \"x\n");
  CHECK_THROWS_WITH(quiz_rules(no_toml.file), test::contains("quiz.toml:1: not valid TOML"));
}
