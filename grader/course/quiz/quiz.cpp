#include "grader/course/quiz/quiz.hpp"

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/quiz/hashes.hpp"
#include "grader/course/quiz/rules.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

// The student's question with that id.
const GivenAnswer& answer_to(const std::string& id, const std::vector<GivenAnswer>& given,
                             const std::string& name) {
  for (const GivenAnswer& answer : given) {
    if (answer.id == id) return answer;
  }
  throw UnreadableQuiz(text(name, " has no question with id \"", id, "\"; ", how_to_restore(name)));
}

Reason judge(const json& key, const std::string& answer, const QuizRules& rules,
             const QuizReader& reader) {
  if (key.contains("salt")) return judge_hashed(key, answer, rules, reader);
  const std::string type = key_text(key, "type");
  if (type == "choice") return judge_choice(key, answer);
  if (type == "order") return judge_order(key, answer);
  if (type == "number") return judge_number(key, answer);
  if (type == "formula") return judge_formula(key, answer, rules, reader);
  throw BrokenKey("there is no type '" + type + "'");
}

// Returns what `read` reads from a key. A mistake in the key is reported with its file and its
// question.
decltype(auto) judged_by(const std::filesystem::path& key, const std::string& id,
                         const auto& read) {
  const auto tell = [&](const std::string& problem) {
    const std::string of = id.empty() ? "" : text(", question ", id);
    return Error(text("the key of a quiz is broken (", key.string(), of, "): ", problem));
  };
  try {
    return read();
  } catch (const BrokenKey& error) {
    throw tell(error.what());
  } catch (const json::exception& error) {
    throw tell(text("a value has another type (", error.what(), ")"));
  }
}

}  // namespace

const json& key_entry(const json& key, const char* name) {
  const auto found = key.is_object() ? key.find(name) : key.end();
  if (found == key.end()) throw BrokenKey(text("it lacks '", name, "'"));
  return *found;
}

std::string key_text(const json& key, const char* name) {
  const json& found = key_entry(key, name);
  if (!found.is_string()) throw BrokenKey(text("'", name, "' is no text: ", write_json(found)));
  return found.get<std::string>();
}

double key_number(const json& key, const char* name) {
  const json& found = key_entry(key, name);
  if (!found.is_number()) throw BrokenKey(text("'", name, "' is no number: ", write_json(found)));
  return found.get<double>();
}

std::vector<AnswerReport> grade_answers(const std::filesystem::path& answers,
                                        const std::filesystem::path& key, const QuizRules& rules) {
  const QuizReader here;
  const QuizReader& reader = rules.reader != nullptr ? *rules.reader : here;
  const std::string name = rules.shown.empty() ? answers.string() : rules.shown;
  const std::vector<GivenAnswer> given = reader.answers(read_text(answers), name);
  const json rules_of_all =
      key.extension() == ".json" ? read_json(read_text(key)) : quiz_rules(key);
  std::vector<AnswerReport> reports;
  const json& questions =
      judged_by(key, "", [&]() -> const json& { return key_entry(rules_of_all, "question"); });
  for (const json& entry : questions) {
    AnswerReport report;
    report.id = judged_by(key, "", [&] { return key_text(entry, "id"); });
    if (rules.only && *rules.only != report.id) continue;
    const GivenAnswer& answer = answer_to(report.id, given, name);
    report.title = answer.title;
    report.given = answer.answer;
    if (!report.given.empty()) {
      const Reason wrong =
          judged_by(key, report.id, [&] { return judge(entry, report.given, rules, reader); });
      report.state = wrong ? Answered::wrong : Answered::right;
      report.reason = wrong.value_or("");
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace lockstep::grader
