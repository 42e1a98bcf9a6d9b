#include "grader/course/quiz/quiz.hpp"

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/one_question.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

// The one question of `key`, answered.
AnswerReport answered(const std::string& key, const std::string& answer,
                      const QuizRules& rules = {}) {
  const test::Scratch scratch;
  write_text(scratch.path() / "quiz.toml",
             "[[question]]\nid = \"q\"\ntitle = \"t\"\nanswer = \"" + answer + "\"\n");
  write_text(scratch.path() / "key.toml", test::one_question(key));
  return grade_answers(scratch.path() / "quiz.toml", scratch.path() / "key.toml", rules).at(0);
}

const std::string choice =
    "type = \"choice\"\noptions = [\"a  1\", \"b  2\", \"c  3\"]\nanswer = \"b\"\n"
    "[question.wrong]\na = \"not a\"\nc = \"not c\"\n";
const std::string order =
    "type = \"order\"\noptions = [\"a  1\", \"b  2\", \"c  3\", \"d  4\"]\n"
    "answer = \"a b c d\"\nedge = [\n"
    "{ before = \"a\", after = \"b\", because = \"b reads a\" },\n"
    "{ before = \"b\", after = \"d\", because = \"d reads b\" } ]\n";
const std::string bytes =
    "type = \"number\"\nanswer = \"7 GB\"\ntolerance = 0.002\notherwise = \"think again\"\n"
    "[[question.mistake]]\nvalue = 4\nbecause = \"only the size\"\n";
const std::string formula =
    "type = \"formula\"\nanswer = \"2*(N-1)/N*P\"\nvariables = { N = [2, 64], P = [10, 1000] }\n"
    "measured_at = [ { N = 4, P = 100 } ]\notherwise = \"count again\"\n"
    "[[question.mistake]]\nformula = \"(N-1)/N*P\"\nbecause = \"one phase\"\n";

}  // namespace

TEST_CASE("a quiz: a question without an answer is open") {
  CHECK(answered(choice, "").state == Answered::open);
  CHECK(answered(choice, "  ").state == Answered::open);
}

TEST_CASE("a choice: every wrong letter has its reason") {
  CHECK(answered(choice, "b").state == Answered::right);
  CHECK(answered(choice, " B. ").state == Answered::right);
  CHECK(answered(choice, "a").reason == "not a");
  CHECK(answered(choice, "c").reason == "not c");
  CHECK_THAT(answered(choice, "z").reason, test::contains("one letter"));
}

TEST_CASE("an order: any order that respects the dependences is right, each broken one is told") {
  for (const char* right : {"a b c d", "c a b d", "abdc", "A, C, B, D"}) {
    CHECK(answered(order, right).state == Answered::right);
  }
  CHECK(answered(order, "bacd").reason == "b comes before a: b reads a");
  const std::string both = answered(order, "dbac").reason;
  CHECK_THAT(both, test::contains("b reads a"));
  CHECK_THAT(both, test::contains("d reads b"));
  CHECK_THAT(answered(order, "abc").reason, test::contains("exactly once"));
  CHECK_THAT(answered(order, "aabcd").reason, test::contains("exactly once"));
}

TEST_CASE("a number: units of bytes count, thousands may be separated, mistakes are recognised") {
  for (const char* right : {"7 GB", "7GB", "7,000 MB", "7e9 B", "6.519 GiB", "7.01 GB"}) {
    CHECK(answered(bytes, right).state == Answered::right);
  }
  CHECK_THAT(answered(bytes, "7").reason, test::contains("needs its unit"));
  CHECK_THAT(answered(bytes, "7 GiB").reason, test::contains("the unit does not"));
  CHECK_THAT(answered(bytes, "7 apples").reason, test::contains("not a unit of bytes"));
  CHECK(answered(bytes, "4000 MB").reason == "only the size");
  CHECK(answered(bytes, "5 GB").reason == "think again");
  CHECK_THAT(answered(bytes, "many").reason, test::contains("write a number such as 1.5 GB"));
  CHECK_THAT(answered(bytes, "nan GB").reason, test::contains("is not a number"));
}

TEST_CASE("a number: commas separate thousands and nothing else, and nothing may follow") {
  const std::string sixteen = "type = \"number\"\nanswer = \"16\"\notherwise = \"no\"\n";
  for (const char* right : {"16", "+16.0", "1.6e1", "16.", "016", "160e-1"}) {
    CAPTURE(right);
    CHECK(answered(sixteen, right).state == Answered::right);
  }
  for (const char* refused : {"1,6", "16x", "16/1", "0x10", "16 times", "1,6e1", ",16", ".", "1e",
                              "16,", "1.6.1", "- 16", "1e999"}) {
    CAPTURE(refused);
    CHECK_THAT(answered(sixteen, refused).reason, test::contains("write a number such as 0.8"));
  }
  const std::string million = "type = \"number\"\nanswer = \"1234567\"\notherwise = \"no\"\n";
  CHECK(answered(million, "1,234,567").state == Answered::right);
  CHECK(answered(million, "1_234_567").state == Answered::right);
  CHECK_THAT(answered(million, "1234,567").reason, test::contains("groups of three"));
  CHECK_THAT(answered(million, "1,2345,67").reason, test::contains("groups of three"));
}

TEST_CASE("a formula: any way of writing it is right, mistakes are recognised by value") {
  CHECK(answered(formula, "2*(N-1)/N*P").state == Answered::right);
  CHECK(answered(formula, "P*2 - 2*P/N").state == Answered::right);
  CHECK(answered(formula, "P*(1 - 1/N)").reason == "one phase");
  CHECK(answered(formula, "P").reason == "count again");
  CHECK_THAT(answered(formula, "2*(N-1").reason, test::contains("cannot be computed"));
  CHECK_THAT(answered(formula, "2*Q").reason, test::contains("cannot be computed"));
}

TEST_CASE("a formula: one that divides by zero is told so, whatever the key says") {
  for (const char* endless : {"1/0", "P/(N-N)", "-P/(N-N)", "0/0", "2*(N-1)/N*P + 1/(N-4)"}) {
    CAPTURE(endless);
    const AnswerReport report = answered(formula, endless);
    CHECK(report.state == Answered::wrong);
    CHECK_THAT(report.reason, test::contains("does it divide by zero?"));
    CHECK(report.reason.find("nan") == std::string::npos);
  }
  QuizRules rules;
  rules.measured = [](const std::string&, const Point&) { return 1.0; };
  CHECK_THAT(answered(formula, "1/0", rules).reason, test::contains("has no value for N = 4"));
}

TEST_CASE("a formula: what the judge counted outranks the key") {
  QuizRules rules;
  rules.measured = [](const std::string&, const Point& point) {
    return 2 * (point.at("N") - 1) / point.at("N") * point.at("P");
  };
  CHECK(answered(formula, "2*(N-1)/N*P", rules).state == Answered::right);
  CHECK_THAT(answered(formula, "(N-1)/N*P", rules).reason,
             test::contains("for N = 4, P = 100 your formula gives 75, but a run counted 150"));
  CHECK_THAT(answered(formula, "(N-1)/N*P", rules).reason, test::contains("one phase"));
  rules.measured = [](const std::string&, const Point&) { return 1.0; };
  CHECK(answered(formula, "2*(N-1)/N*P", rules).state == Answered::wrong);
}

TEST_CASE("a quiz: hashes that lack something are an error that names file and question") {
  const test::Scratch scratch;
  write_text(scratch.path() / "quiz.toml", "[[question]]\nid = \"q\"\nanswer = \"b\"\n");
  const fs::path key = scratch.path() / "key.json";
  const auto broken = [&](const char* question, const char* problem) {
    write_text(key, text("{\"question\": [{\"id\": \"q\", \"salt\": \"1\", ", question, "}]}"));
    CHECK_THROWS_WITH(grade_answers(scratch.path() / "quiz.toml", key, {}),
                      test::contains("key.json, question q") && test::contains(problem));
  };
  broken("\"type\": \"choice\"", "it lacks 'letters'");
  broken("\"type\": 3", "'type' is no text");
  broken("\"type\": \"riddle\"", "there is no type 'riddle'");
}

TEST_CASE("a quiz: a file that lost a question is an error that says how to mend it") {
  const test::Scratch scratch;
  write_text(scratch.path() / "quiz.toml", "[[question]]\nid = \"other\"\n");
  write_text(scratch.path() / "key.toml", test::one_question(choice));
  CHECK_THROWS_WITH(grade_answers(scratch.path() / "quiz.toml", scratch.path() / "key.toml", {}),
                    test::contains("./lab reset " + scratch.path().filename().string() + "/quiz"));
}

TEST_CASE("a quiz: a quote that was not closed is suspected") {
  const test::Scratch scratch;
  write_text(scratch.path() / "key.toml", test::one_question(choice));
  for (const char* open : {"answer = \"b\n", "answer = \"b", "answer = 'b\n"}) {
    CAPTURE(open);
    write_text(scratch.path() / "quiz.toml", std::string("[[question]]\nid = \"q\"\n") + open);
    CHECK_THROWS_WITH(grade_answers(scratch.path() / "quiz.toml", scratch.path() / "key.toml", {}),
                      test::contains("(is a closing quote missing?)"));
  }
  write_text(scratch.path() / "quiz.toml", "[[question]]\nid = \n");
  CHECK_THROWS_WITH(grade_answers(scratch.path() / "quiz.toml", scratch.path() / "key.toml", {}),
                    !test::contains("closing quote"));
}

TEST_CASE("a quiz: what is nested more deeply than any quiz is refused before it is parsed") {
  const QuizReader reader;
  const auto repeated = [](const std::string& part, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += part;
    return all;
  };
  const std::string dots = repeated("a.", 200'000) + "a";
  for (const std::string& deep :
       {dots + " = 1\n", "[" + dots + "]\n", "[[" + dots + "]]\n", "x = {" + dots + " = 1}\n",
        "x = \"\"\"" + repeated("\"", 2) + "\"\"\"\n" + dots + " = 1\n",
        "x = [\"\"\"a\"\"\"\", {" + dots + " = 1}]\n", "x = '\\'\n" + dots + " = 1\n",
        "x = 'it''s' # don't\n" + dots + " = 1\n", repeated("\"a\".", 100'000) + "a = 1\n"}) {
    CHECK_THROWS_WITH(reader.answers(deep, "work/03/quiz.toml"),
                      test::contains("a key has more than 16 parts"));
  }
  CHECK_THROWS_WITH(reader.answers("x = " + repeated("[", 33), "quiz"),
                    test::contains("quiz:1: more than 32 brackets"));
  // Dots that are none of a key's.
  const std::string fine = "# " + dots + "\nx = \"" + dots + "\"\ny = '" + dots +
                           "'\nz = \"\"\"\n" + dots + "\n\"\"\"\nl = [" + repeated("1.5, ", 1000) +
                           "]\n[[question]]\nid = \"q\"\n";
  CHECK(reader.answers(fine, "quiz").size() == 1);
}

TEST_CASE("a quiz: beyond ASCII a letter stands between quotes or in a comment") {
  const QuizReader reader;
  for (const char* typed : {"answer = \u201cb\u201d", "answer = \u00e9", "r\u00e9ponse = 1",
                            "[[qu\u00e9stion]]", "answer = \"\"\u00a0"}) {
    CAPTURE(typed);
    CHECK_THROWS_WITH(reader.answers(std::string("[[question]]\n") + typed, "quiz"),
                      test::contains("quiz:2: an accented letter, a typographic quote"));
  }
  const auto fine = reader.answers(
      "# \u00e9\n[[question]]\n\"\u00e9\" = 'x \u00e9'\nanswer = \"\"\"\\\n\u00e9\"\"\"", "quiz");
  CHECK(fine.at(0).answer == "\u00e9");
}

TEST_CASE("a quiz: a text in another encoding is told so") {
  const QuizReader reader;
  CHECK_THROWS_WITH(reader.answers("\xff\xfe[\0[\0", "quiz"), test::contains("UTF-16"));
  CHECK_THROWS_WITH(reader.answers("a = 1\nb = \"\xe9\"\n", "quiz"),
                    test::contains("quiz:2: a character is not UTF-8"));
  CHECK(reader.answers("\xef\xbb\xbf[[question]]\nid = \"\xc3\xa9\"\n", "quiz").size() == 1);
}
