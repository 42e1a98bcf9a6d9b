#include "grader/course/quiz.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/quiz_rules.hpp"
#include "grader/course/toml_file.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

std::string trimmed(const std::string& words) {
  const auto first = words.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return words.substr(first, words.find_last_not_of(" \t\n") - first + 1);
}

// The student's question with that id.
const json& question_of(const json& answers, const std::string& id,
                        const std::filesystem::path& file) {
  const auto questions = answers.find("question");
  if (questions != answers.end() && questions->is_array()) {
    for (const json& question : *questions) {
      if (question.is_object() && question.value("id", json("")) == json(id)) return question;
    }
  }
  throw UsageError(text(file.string(), " has no question with id \"", id, "\"; ./lab reset ",
                        file.parent_path().filename().string(), "/", file.stem().string(),
                        " restores the original"));
}

// Numbers may be written without quotes.
std::string answer_of(const json& question) {
  const auto answer = question.find("answer");
  if (answer == question.end()) return "";
  return trimmed(answer->is_string() ? answer->get<std::string>() : answer->dump());
}

Reason judge(const json& key, const std::string& answer, const QuizRules& rules) {
  const std::string type = key_text(key, "type");
  if (type == "choice") return judge_choice(key, answer);
  if (type == "order") return judge_order(key, answer);
  if (type == "number") return judge_number(key, answer);
  if (type == "formula") return judge_formula(key, answer, rules);
  throw Error("the quiz key has an unknown type '" + type + "'");
}

}  // namespace

std::string key_text(const json& key, const char* name) {
  const auto found = key.find(name);
  if (found == key.end() || !found->is_string()) {
    throw Error(
        text("the quiz key lacks the text '", name, "' in ", key.value("id", "a question")));
  }
  return found->get<std::string>();
}

std::vector<AnswerReport> grade_answers(const std::filesystem::path& answers,
                                        const std::filesystem::path& key, const QuizRules& rules) {
  const json given = read_toml(answers);
  const json rules_of_all = read_toml(key);
  std::vector<AnswerReport> reports;
  for (const json& entry : rules_of_all.at("question")) {
    AnswerReport report;
    report.id = key_text(entry, "id");
    if (rules.only && *rules.only != report.id) continue;
    const json& question = question_of(given, report.id, answers);
    report.title = question.value("title", "");
    report.given = answer_of(question);
    if (!report.given.empty()) {
      const Reason wrong = judge(entry, report.given, rules);
      report.state = wrong ? Answered::wrong : Answered::right;
      report.reason = wrong.value_or("");
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

std::string blank_quiz(const std::string& answered) {
  const std::string mark = "answer = \"";
  std::istringstream in(answered);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    const std::size_t close = line.find('"', mark.size());
    if (line.rfind(mark, 0) == 0 && close != std::string::npos) {
      line.erase(mark.size(), close - mark.size());  // what it expects, the comment, stays
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace lockstep::grader
