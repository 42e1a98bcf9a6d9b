#include "grader/course/quiz/file.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "engine/base/error.hpp"
#include "grader/course/quiz/question.hpp"
#include "grader/course/quiz/rules.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/course/text/toml_file.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct WrittenQuestion {
  json rules;
  int first_line = 0, answer_line = 0;
};

struct WrittenQuiz {
  std::string about;
  std::vector<WrittenQuestion> questions;
};

WrittenQuiz written_quiz(const fs::path& file, const json& document) {
  const QuizTable quiz(file.string(), document);
  quiz.refuse_other_keys({"about", "question"});
  WrittenQuiz written{quiz.words("about"), {}};
  std::map<std::string, int> lines;  // of ids
  for (const QuizTable& question : quiz.tables("question")) {
    WrittenQuestion one{rules_of_question(question), question.line(""), question.line("answer")};
    const std::string id = one.rules.at("id");
    const auto [before, is_new] = lines.emplace(id, question.line("id"));
    if (!is_new) {
      question.fail("id", text("the question \"", id, "\" is already on line ", before->second));
    }
    written.questions.push_back(std::move(one));
  }
  if (written.questions.empty()) throw Error(file.string() + ":1: there is no [[question]]");
  return written;
}

Reason judged(const json& rules, const std::string& answer) {
  const std::string type = rules.at("type");
  if (type == "choice") return judge_choice(rules, answer);
  if (type == "order") return judge_order(rules, answer);
  if (type == "number") return judge_number(rules, answer);
  return judge_formula(rules, answer, {}, QuizReader());
}

// A mistake as a student would write it.
std::string written_as_answer(const json& rules, const json& mistake) {
  if (mistake.contains("formula")) return mistake.at("formula");
  const std::string unit = rules.value("unit", "");
  return mistake.at("value").dump() + (unit.empty() ? "" : " " + unit);
}

// The answers that are given as right are right, and each known mistake gets its own reason.
void try_answers(const QuizTable& question, const json& rules) {
  std::vector<std::string> right{rules.at("answer")};
  for (const json& other : rules.value("also", json::array())) right.push_back(other);
  for (const std::string& answer : right) {
    if (const Reason wrong = judged(rules, answer)) {
      question.fail(answer == right.front() ? "answer" : "also",
                    text("the answer \"", answer, "\" is judged wrong: ", *wrong));
    }
  }
  for (const QuizTable& mistake : question.tables("mistake")) {
    const char* what = mistake.has("formula") ? "formula" : "value";
    const std::string answer = written_as_answer(rules, {{what, mistake.entry(what)}});
    const Reason reason = judged(rules, answer);
    if (!reason) {
      mistake.fail(what, text("the mistake ", answer, " equals the answer \"", right[0], "\""));
    }
    if (*reason != mistake.words("because")) {
      mistake.fail(what, text("the mistake ", answer, " gets a different reason: ", *reason));
    }
  }
}

// "# Questions on lesson 03, collectives. …"
std::string head_for_students(const fs::path& file, const std::string& about) {
  const std::string lesson = file.parent_path().filename();
  return text("# Questions on lesson ", lesson.substr(0, 2), ", ", about,
              ". Write your answers between the quotes, save, and type\n#   ./lab check ", lesson,
              "/quiz\n# Questions without an answer are skipped; a wrong answer gets a reason.\n");
}

enum class Answers : unsigned char { empty, given };

std::string without_answer(std::string line) {
  const std::string mark = "answer = \"";
  const std::size_t close = line.find('"', mark.size());
  line.erase(mark.size(), close - mark.size());  // what it expects, the comment, stays
  return line;
}

std::string copy_of(const fs::path& file, Answers answers) {
  const WrittenQuiz quiz = written_quiz(file, read_toml_with_lines(file));
  std::vector<std::string> lines;
  std::istringstream in(read_text(file));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string out = head_for_students(file, quiz.about);
  for (const WrittenQuestion& question : quiz.questions) {
    out += '\n';
    for (int at = question.first_line; at < question.answer_line; ++at) {
      out += lines.at(static_cast<std::size_t>(at) - 1) + "\n";
    }
    const std::string& line = lines.at(static_cast<std::size_t>(question.answer_line) - 1);
    const std::string answer = question.rules.at("answer");
    if (line.rfind("answer = \"" + answer + "\"", 0) != 0) {
      throw Error(text(file.string(), ":", question.answer_line,
                       ": write the answer on one line that begins with answer = \"", answer,
                       "\""));
    }
    out += (answers == Answers::given ? line : without_answer(line)) + "\n";
  }
  return out;
}

}  // namespace

json quiz_rules(const fs::path& file) {
  const json document = read_toml_with_lines(file);
  const WrittenQuiz quiz = written_quiz(file, document);
  json rules{{"question", json::array()}};
  const std::vector<QuizTable> tables = QuizTable(file.string(), document).tables("question");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    try_answers(tables[i], quiz.questions[i].rules);
    rules["question"].push_back(quiz.questions[i].rules);
  }
  return rules;
}

std::string quiz_for_students(const fs::path& file) { return copy_of(file, Answers::empty); }

std::string answered_quiz(const fs::path& file) { return copy_of(file, Answers::given); }

}  // namespace lockstep::grader
