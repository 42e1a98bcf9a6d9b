#include "grader/course/quiz/questions.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/course/text/toml_file.hpp"

namespace lockstep::grader {
namespace {

constexpr const char* answer_mark = "answer = \"";

std::string id_line(const std::string& id) { return "id = \"" + id + "\""; }

// Behind the text that begins at `at`: its closing quote. npos when it has none.
std::size_t closing_quote(const std::string& line, std::size_t at) {
  for (; at < line.size(); ++at) {
    if (line[at] == '\\') {
      ++at;
    } else if (line[at] == '"') {
      return at;
    }
  }
  return std::string::npos;
}

std::string quoted(const std::string& answer) {
  std::string out;
  for (const char letter : answer) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
  return out;
}

// The comment behind the answer of that question.
std::string expected_of(const std::string& file, const std::string& id) {
  std::istringstream in(file);
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "[[question]]") inside = false;
    if (line == id_line(id)) inside = true;
    if (!inside || line.rfind(answer_mark, 0) != 0) continue;
    const std::size_t close = closing_quote(line, std::string(answer_mark).size());
    const std::size_t comment = close == std::string::npos ? close : line.find("# ", close);
    return comment == std::string::npos ? "" : line.substr(comment + 2);
  }
  return "";
}

}  // namespace

std::vector<Question> questions_of(const std::filesystem::path& file) {
  const nlohmann::json document = read_toml(file);
  const std::string content = read_text(file);
  std::vector<Question> questions;
  for (const auto& entry : document.value("question", nlohmann::json::array())) {
    Question question;
    try {
      question.id = entry.at("id");
      question.title = entry.at("title");
      question.type = entry.at("type");
      question.text = entry.at("text");
      question.options = entry.value("options", std::vector<std::string>{});
      const auto& answer = entry.at("answer");
      question.answer = answer.is_string() ? answer.get<std::string>() : write_json(answer);
    } catch (const nlohmann::json::exception& error) {
      throw UsageError(text("a question of ", file.string(), " is incomplete: ", error.what()));
    }
    question.expects = expected_of(content, question.id);
    questions.push_back(std::move(question));
  }
  return questions;
}

std::string with_answer(const std::string& file, const std::string& id, const std::string& answer) {
  std::istringstream in(file);
  std::string out;
  bool inside = false, written = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "[[question]]") inside = false;
    if (line == id_line(id)) inside = true;
    const std::size_t begin = std::string(answer_mark).size();
    if (inside && !written && line.rfind(answer_mark, 0) == 0) {
      const std::size_t close = closing_quote(line, begin);
      if (close != std::string::npos) {
        line.replace(begin, close - begin, quoted(answer));
        written = true;
      }
    }
    out += line + "\n";
  }
  if (!written) throw UsageError(text("the quiz has no line answer = \"…\" for question ", id));
  return out;
}

}  // namespace lockstep::grader
