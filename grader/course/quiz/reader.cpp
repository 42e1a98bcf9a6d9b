#include "grader/course/quiz/reader.hpp"

#include <muParser.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "grader/course/text/toml_file.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

// More than any answer, title or quiz; what is longer is cut off.
constexpr std::size_t answer_bytes_max = 16 << 10, label_bytes_max = 200;
constexpr std::size_t questions_max = 1000;

std::string cut(const std::string& words, std::size_t bytes_max) {
  const auto first = words.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  const std::size_t length = words.find_last_not_of(" \t\n") + 1 - first;
  return words.substr(first, std::min(length, bytes_max));
}

// Numbers may be written without quotes.
std::string words_of(const json& question, const char* name, std::size_t bytes_max) {
  const auto found = question.find(name);
  if (found == question.end()) return "";
  const std::string words = found->is_string()
                                ? found->get<std::string>()
                                : found->dump(-1, ' ', false, json::error_handler_t::replace);
  return cut(words, bytes_max);
}

json document_of(const std::string& content, const std::string& name) {
  try {
    return parse_toml(content, name);
  } catch (const UsageError& error) {
    throw UnreadableQuiz(error.what());
  }
}

}  // namespace

std::string how_to_restore(const std::string& name) {
  const std::filesystem::path file(name);
  return "./lab reset " + file.parent_path().filename().string() + "/" + file.stem().string() +
         " restores the original";
}

std::vector<GivenAnswer> QuizReader::answers(const std::string& content,
                                             const std::string& name) const {
  const json document = document_of(content, name);
  const auto questions = document.find("question");
  if (questions == document.end()) {
    throw UnreadableQuiz(text(name, " has no [[question]]; ", how_to_restore(name)));
  }
  if (!questions->is_array()) {
    throw UnreadableQuiz(text(name, ": question is not a list: each begins with [[question]]; ",
                              how_to_restore(name)));
  }
  std::vector<GivenAnswer> answers;
  for (const json& question : *questions) {
    if (!question.is_object()) continue;
    if (answers.size() == questions_max) {
      throw UnreadableQuiz(
          text(name, " has more than ", questions_max, " questions; ", how_to_restore(name)));
    }
    answers.push_back({words_of(question, "id", label_bytes_max),
                       words_of(question, "title", label_bytes_max),
                       words_of(question, "answer", answer_bytes_max)});
  }
  return answers;
}

FormulaValues QuizReader::values(const std::string& formula,
                                 const std::vector<Point>& points) const {
  FormulaValues all;
  try {
    for (Point point : points) {
      mu::Parser parser;
      for (auto& [name, value] : point) parser.DefineVar(name, &value);
      parser.SetExpr(formula);
      all.values.push_back(parser.Eval());
    }
  } catch (const mu::Parser::exception_type& error) {
    return {{}, error.GetMsg()};
  }
  return all;
}

}  // namespace lockstep::grader
