// ./lab quiz: a conversation whose answers are judged at once and kept.
#include <nlohmann/json.hpp>

#include "grader/lab/quiz_talk.hpp"
#include "tests/catch.hpp"
#include "tests/lab/running.hpp"
#include "tests/lab/tree.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;
using lockstep::test::Running;
using lockstep::test::Seen;
using lockstep::test::Tree;

namespace {

const std::string two_questions =
    "[[question]]\nid = \"first\"\ntitle = \"One\"\ntype = \"choice\"\ntext = "
    "\"\"\"\nWhich?\"\"\"\n"
    "options = [\n  \"a  this\",\n  \"b  that\",\n]\nanswer = \"\"   # one letter\n\n"
    "[[question]]\nid = \"second\"\ntitle = \"Two\"\ntype = \"number\"\ntext = \"How "
    "\\\"many\\\"?\"\n"
    "answer = \"3\"   # a number\n";

std::vector<Question> asked_of(const std::string& toml) {
  const test::Scratch scratch;
  write_text(scratch.path() / "quiz.toml", toml);
  return questions_of(scratch.path() / "quiz.toml");
}

// Right are "b" and "4".
QuizTalk talk(std::vector<Answered> states, std::vector<std::string>& judged) {
  return {asked_of(two_questions), std::move(states),
          [&](const Question& question, const std::string& answer) {
            judged.push_back(question.id + " " + answer);
            AnswerReport report;
            const bool right = answer == (question.id == "first" ? "b" : "4");
            report.state = right ? Answered::right : Answered::wrong;
            report.reason = right ? "" : "not that many";
            return report;
          },
          Paint::plain};
}

}  // namespace

TEST_CASE("quiz: questions are read with their options and what answer they expect") {
  const auto questions = asked_of(two_questions);
  REQUIRE(questions.size() == 2);
  CHECK(questions[0].options.size() == 2);
  CHECK(questions[0].expects == "one letter");
  CHECK(questions[0].answer.empty());
  CHECK(questions[1].text == "How \"many\"?");
  CHECK(questions[1].answer == "3");
}

TEST_CASE("quiz: an answer is written into its own question, and nothing else changes") {
  const std::string second = with_answer(two_questions, "second", "N \"of\" \\ 4");
  CHECK(asked_of(second)[1].answer == "N \"of\" \\ 4");
  CHECK(asked_of(second)[0].answer.empty());
  CHECK(with_answer(second, "second", "3") == two_questions);
  CHECK_THROWS_WITH(with_answer(two_questions, "third", "1"), contains("third"));
}

TEST_CASE("quiz: a wrong answer is told why and may be given again, a right one goes on") {
  std::vector<std::string> judged;
  QuizTalk conversation = talk({Answered::open, Answered::open}, judged);
  CHECK_THAT(conversation.asked(), contains("1 of 2  One") && contains("    b  that"));
  CHECK_THAT(conversation.heard(" a "), contains("not right: not that many"));
  CHECK(conversation.tries_again());
  CHECK(conversation.heard("b") == "right\n");
  CHECK_THAT(conversation.asked(), contains("2 of 2") && contains("your answer so far: 3"));
  CHECK(conversation.heard("back").empty());
  CHECK_THAT(conversation.asked(), contains("so far: b, which is right"));
  CHECK(conversation.heard("").empty());
  conversation.heard("4");
  CHECK(conversation.over());
  CHECK(judged == std::vector<std::string>{"first a", "first b", "second 4"});
}

TEST_CASE("quiz: a question mark is told how to answer, and what is no option is not saved") {
  std::vector<std::string> judged;
  QuizTalk conversation = talk({Answered::open, Answered::open}, judged);
  conversation.heard("b");
  conversation.heard("back");
  CHECK_THAT(conversation.heard("?"), contains("Answer with one letter: a or b. Or press Enter"));
  CHECK_FALSE(conversation.tries_again());  // the question with its options is shown again
  for (const char* none : {"z", "a b", "this", "1"}) {
    CHECK_THAT(conversation.heard(none), contains("is not saved. Answer with one letter: a or b."));
    CHECK(conversation.tries_again());
  }
  CHECK_THAT(conversation.asked(), contains("so far: b, which is right"));
  CHECK(conversation.heard(" B) ") != "");  // as the judge reads it
  CHECK(judged == std::vector<std::string>{"first b", "first B)"});
}

TEST_CASE("quiz: an order that does not name each option once is not saved") {
  std::string order = two_questions;
  order.replace(order.find("choice"), 6, "order");
  std::vector<std::string> judged;
  QuizTalk conversation(
      asked_of(order), {Answered::open, Answered::open},
      [&](const Question&, const std::string& answer) {
        judged.push_back(answer);
        return AnswerReport{};
      },
      Paint::plain);
  CHECK_THAT(conversation.heard("a a"),
             contains("is not saved") && contains("each of a to b once"));
  CHECK_THAT(conversation.heard("a"), contains("is not saved"));
  conversation.heard("b, a");
  CHECK(judged == std::vector<std::string>{"b, a"});
}

TEST_CASE("quiz: it begins where something is left, and ends when told to") {
  std::vector<std::string> judged;
  QuizTalk conversation = talk({Answered::right, Answered::wrong}, judged);
  CHECK_THAT(conversation.asked(), contains("2 of 2"));
  conversation.heard("quit");
  CHECK(conversation.over());
  CHECK(talk({Answered::right, Answered::right}, judged).over());
  CHECK(judged.empty());
}

TEST_CASE("lab quiz: answers of a terminal are in the file that check judges") {
  const Tree tree;
  Running quiz({LOCKSTEP_TOOL, "--root", tree.root().string(), "quiz", "06"}, tree.root(),
               Seen::on_a_terminal);
  quiz.wait_for("1 of 15");
  quiz.wait_for("> ");
  quiz.type("a b c d e\n");
  quiz.wait_for("not right");
  quiz.type("c e d a b\n");
  quiz.wait_for("2 of 15");
  quiz.type("quit\n");
  quiz.wait_for("1 of 15 right");
  CHECK(quiz.exit_code() == 1);
  CHECK_THAT(tree.lab({"check", "06_all_reduce/quiz"}).output, contains("ok  order"));
}

TEST_CASE("lab quiz: without a terminal the questions are printed, or told as JSON") {
  const Tree tree;
  const auto printed = tree.lab({"quiz", "6"});
  CHECK(printed.exit_code == 0);
  CHECK_THAT(printed.output, contains("15 of 15") && contains("./lab check 06_all_reduce/quiz"));
  const auto document = nlohmann::json::parse(tree.lab({"quiz", "06", "--json"}).output);
  CHECK(document.at("questions").size() == 15);
  CHECK_THAT(tree.lab({"quiz"}).output, contains("01_why_distribute/quiz"));
  CHECK_THAT(tree.lab({"check", "06/quiz"}).output,
             contains("next      ./lab quiz 06 asks the questions one by one"));
  CHECK(tree.lab({"quiz", "06", "05"}).exit_code == 2);
  CHECK(tree.lab({"quiz", "ring_all_reduce"}).exit_code == 2);
}
