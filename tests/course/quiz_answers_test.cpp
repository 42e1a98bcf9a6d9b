// What a quiz's rules imply: answers to give and what must be said of them.
#include "grader/course/quiz/answers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "grader/course/quiz/file.hpp"
#include "grader/course/quiz/rules.hpp"
#include "tests/catch.hpp"

using namespace lockstep::grader;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> answers_in(const std::vector<WrongAnswer>& wrong) {
  std::vector<std::string> answers;
  for (const WrongAnswer& one : wrong) answers.push_back(one.answer);
  return answers;
}

json edge(const char* before, const char* after) {
  return {{"before", before}, {"after", after}, {"because", std::string(before) + after}};
}

using Answers = std::vector<std::string>;

}  // namespace

TEST_CASE("answers to a choice: every other letter with its reason, and one that is no option") {
  const json rules{{"type", "choice"},
                   {"answer", "b"},
                   {"right", "b"},
                   {"wrong", {{"a", "not a"}, {"c", "not c"}}}};
  CHECK(other_right_answers(rules) == Answers{"B."});
  const auto wrong = wrong_answers(rules);
  CHECK(answers_in(wrong) == Answers{"a", "c", "d"});
  CHECK(wrong[1].says == "not c");
}

TEST_CASE("answers to an order: another right one, and each edge violated alone where possible") {
  json rules{{"type", "order"},
             {"answer", "a b c d"},
             {"steps", "abcd"},
             {"edge", {edge("a", "b"), edge("b", "d")}}};
  CHECK(other_right_answers(rules) == Answers{"A, B, C, D", "cabd"});
  CHECK(answers_in(wrong_answers(rules)) == Answers{"b a c d", "a c d b", "a b c"});
  CHECK(wrong_answers(rules)[1].says == "d comes before b: bd");
  for (const std::size_t which : {0U, 1U}) {
    CHECK(judge_order(rules, wrong_answers(rules)[which].answer) ==
          wrong_answers(rules)[which].says);
  }
  // An edge that others imply is not violated alone.
  rules["edge"] = {edge("a", "b"), edge("b", "c"), edge("a", "c"), edge("c", "d")};
  CHECK(other_right_answers(rules) == Answers{"A, B, C, D"});
  CHECK(wrong_answers(rules)[2].answer == "c a b d");
}

TEST_CASE(
    "answers to a number: its other spellings, its mistakes, and just outside the tolerance") {
  json rules{{"type", "number"},
             {"answer", "20"},
             {"value", 20},
             {"tolerance", 0.1},
             {"counts", "ms"},
             {"otherwise", "no"},
             {"mistake", {{{"value", 40}, {"because", "twice"}}}}};
  CHECK(other_right_answers(rules) == Answers{"21.8", "18.2", "20 ms"});
  CHECK(answers_in(wrong_answers(rules)) == Answers{"40", "22.200000000002"});
  rules["mistake"].push_back({{"value", 22}, {"because", "near"}});
  CHECK(wrong_answers(rules).back().answer == "17.799999999998");
  rules.erase("counts");
  rules["unit"] = "GB";
  CHECK(other_right_answers(rules) ==
        Answers{"21.8 GB", "18.2 GB", "20000000000 B", "20000 MB", "18.6264514923096 GiB"});
  const auto wrong = wrong_answers(rules);
  CHECK(wrong[0].answer == "40 GB");
  CHECK(wrong[3].answer == "20");
  CHECK(wrong[3].says == "needs its unit");
  CHECK(wrong[4].answer == "20 GiB");
  CHECK(wrong[4].says == wrong_unit());
}

TEST_CASE("answers to a formula: those beside it, its mistakes, and a thousandth too much") {
  json rules{{"type", "formula"},
             {"answer", "2*N"},
             {"also", {"N + N"}},
             {"otherwise", "no"},
             {"mistake", {{{"formula", "N"}, {"because", "once"}}}}};
  CHECK(other_right_answers(rules) == Answers{"N + N", "1*(2*N)"});
  CHECK(answers_in(wrong_answers(rules)) == Answers{"N", "1.001*(2*N)", "(2*N"});
  CHECK(wrong_answers(rules)[1].says == "no");
  rules["measured_at"] = json::array({{{"N", 2}}});
  CHECK(wrong_answers(rules)[1].says == "but a run counted");
}

TEST_CASE("every quiz of the course: each question has answers of both kinds, judged as stated") {
  int right = 0, wrong = 0;
  for (const auto& lesson : fs::directory_iterator(fs::path(LOCKSTEP_ROOT) / "solutions")) {
    if (!fs::exists(lesson.path() / "quiz.toml")) continue;
    const json quiz = quiz_rules(lesson.path() / "quiz.toml");
    for (const json& rules : quiz.at("question")) {
      const std::string type = rules.at("type");
      const auto judged = [&](const std::string& answer) {
        if (type == "choice") return judge_choice(rules, answer);
        if (type == "order") return judge_order(rules, answer);
        if (type == "number") return judge_number(rules, answer);
        return judge_formula(rules, answer, {}, QuizReader());
      };
      for (const std::string& answer : other_right_answers(rules)) {
        INFO(rules.at("id") << ": " << answer);
        CHECK(judged(answer) == Reason());
        ++right;
      }
      for (const WrongAnswer& answer : wrong_answers(rules)) {
        INFO(rules.at("id") << ": " << answer.answer);
        const Reason reason = judged(answer.answer);
        REQUIRE(reason);
        if (!rules.contains("measured_at")) {
          CHECK(reason->find(answer.says) != std::string::npos);
        }
        ++wrong;
      }
    }
  }
  CHECK(right > 250);
  CHECK(wrong > 600);
}
