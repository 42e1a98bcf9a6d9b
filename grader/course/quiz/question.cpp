#include "grader/course/quiz/question.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/quiz/rules.hpp"
#include "grader/course/text/quantity.hpp"
#include "grader/course/text/toml_file.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

const Names seen_by_students{"id", "title", "type", "text", "options", "answer"};

Names rule_keys(const std::string& type) {
  if (type == "choice") return {"wrong"};
  if (type == "order") return {"edge"};
  if (type == "number") return {"value", "unit", "counts", "tolerance", "otherwise", "mistake"};
  return {"variables", "measured_at", "also", "otherwise", "mistake"};
}

// Without the notes on lines.
json plain(const json& value) {
  if (!value.is_structured()) return value;
  json out = value.is_array() ? json::array() : json::object();
  for (const auto& [key, inner] : value.items()) {
    if (value.is_array()) {
      out.push_back(plain(inner));
    } else if (key != toml_lines) {
      out[key] = plain(inner);
    }
  }
  return out;
}

// The letters of the options, which are a, b, c and so on.
std::string letters_of_options(const QuizTable& question) {
  std::string letters;
  for (const json& option : question.entry("options")) {
    const std::string words = option.is_string() ? option.get<std::string>() : "";
    const char letter = static_cast<char>('a' + letters.size());
    if (words.rfind(std::string(1, letter) + "  ", 0) != 0) {
      question.fail("options", text("option ", letters.size() + 1, " must begin with \"", letter,
                                    "\" and two blanks"));
    }
    letters += letter;
  }
  return letters;
}

json choice(const QuizTable& question) {
  const std::string letters = letters_of_options(question), right = question.words("answer");
  if (right.size() != 1 || letters.find(right) == std::string::npos) {
    question.fail("answer", text("the answer \"", right, "\" is no option's letter"));
  }
  const QuizTable wrong = question.table("wrong");
  json reasons = json::object();
  for (const std::string& letter : wrong.keys()) {
    if (letter == right) {
      wrong.fail(letter, text("option ", letter, " is the answer, so it cannot be wrong, too"));
    }
    if (letter.size() != 1 || letters.find(letter) == std::string::npos) {
      wrong.fail(letter, text("there is a reason for option ", letter, ", which does not exist"));
    }
    reasons[letter] = wrong.words(letter.c_str());
  }
  for (const char letter : letters) {
    const std::string name(1, letter);
    if (name == right || reasons.contains(name)) continue;
    wrong.fail("", text("option ", name, " is wrong, and has no reason"));
  }
  return {{"right", right}, {"wrong", reasons}};
}

json order(const QuizTable& question) {
  const std::string steps = letters_of_options(question);
  json edges = json::array();
  for (const QuizTable& edge : question.tables("edge")) {
    edge.refuse_other_keys({"before", "after", "because"});
    for (const char* end : {"before", "after"}) {
      const std::string letter = edge.words(end);
      if (letter.size() == 1 && steps.find(letter) != std::string::npos) continue;
      edge.fail(end, text("an edge names option ", letter, ", which does not exist"));
    }
    edges.push_back({{"before", edge.words("before")},
                     {"after", edge.words("after")},
                     {"because", edge.words("because")}});
  }
  if (edges.empty()) question.fail("edge", "an order needs at least one edge");
  return {{"steps", steps}, {"edge", edges}};
}

json mistakes(const QuizTable& question, const char* what) {
  json all = json::array();
  for (const QuizTable& mistake : question.tables("mistake")) {
    mistake.refuse_other_keys({what, "because"});
    all.push_back({{what, plain(mistake.entry(what))}, {"because", mistake.words("because")}});
  }
  return all;
}

// The answer gives unit and value where they have no keys of their own.
json number(const QuizTable& question) {
  const std::string answer = question.words("answer");
  const auto given = quantity_of(answer);
  if (!given) question.fail("answer", text("the answer \"", answer, "\" is not a number"));
  json rules{{"otherwise", question.words("otherwise")}, {"mistake", mistakes(question, "value")}};
  for (const json& mistake : rules.at("mistake")) {
    if (!mistake.at("value").is_number()) {
      question.fail("mistake", text("the value ", mistake.at("value").dump(), " is no number"));
    }
  }
  if (question.has("counts")) rules["counts"] = question.words("counts");
  if (question.has("tolerance")) rules["tolerance"] = question.number("tolerance");
  const double bytes = bytes_of_unit(given->unit);
  const std::string unit = question.has("unit") ? question.words("unit")
                           : bytes != 0         ? given->unit
                                                : "";
  if (!unit.empty() && bytes_of_unit(unit) == 0) {
    question.fail("unit", text("\"", unit, "\" is no unit of bytes"));
  }
  if (!unit.empty()) rules["unit"] = unit;
  const double in_unit = unit.empty() || unit == given->unit
                             ? given->value
                             : given->value * bytes / bytes_of_unit(unit);
  rules["value"] = question.has("value") ? question.number("value") : in_unit;
  return rules;
}

json formula(const QuizTable& question) {
  json rules{{"formula", question.words("answer")},
             {"variables", plain(question.entry("variables"))},
             {"otherwise", question.words("otherwise")},
             {"mistake", mistakes(question, "formula")},
             {"also", json::array()}};
  for (const auto& [name, range] : rules.at("variables").items()) {
    const bool fits = range.is_array() && range.size() == 2 && range[0].is_number() &&
                      range[1].is_number() && range[0] <= range[1];
    if (!fits) question.fail("variables", name + " needs a range: [lowest, highest]");
  }
  for (const json& mistake : rules.at("mistake")) {
    if (!mistake.at("formula").is_string()) {
      question.fail("mistake", text("the formula ", mistake.at("formula").dump(), " is no text"));
    }
  }
  for (const QuizTable& point : question.tables("measured_at")) {
    for (const std::string& name : point.keys()) point.number(name.c_str());
  }
  if (question.has("measured_at")) rules["measured_at"] = plain(question.entry("measured_at"));
  if (question.has("also")) rules["also"] = plain(question.entry("also"));
  const json& also = rules.at("also");
  if (!also.is_array() || !std::ranges::all_of(also, [](auto& one) { return one.is_string(); })) {
    question.fail("also", "'also' must be a list of formulas in quotes");
  }
  return rules;
}

// Students get the lines up to the answer.
void keep_rules_below_the_answer(const QuizTable& question) {
  const int answer = question.line("answer");
  for (const std::string& key : question.keys()) {
    const bool seen = std::ranges::find(seen_by_students, key) != seen_by_students.end();
    if (seen ? question.line(key) <= answer : question.line(key) > answer) continue;
    question.fail(key, seen ? text("'", key, "' stands below the answer, where students lack it")
                            : text("'", key, "' stands above the answer, where students see it"));
  }
}

}  // namespace

QuizTable::QuizTable(std::string file, const json& table) : file_(std::move(file)), table_(table) {}

int QuizTable::line(const std::string& key) const {
  const json& lines = table_.at(toml_lines);
  return lines.at(lines.contains(key) ? key : "").get<int>();
}

void QuizTable::fail(const std::string& key, const std::string& what) const {
  throw Error(text(file_, ":", line(key), ": ", what));
}

const json& QuizTable::entry(const char* key) const {
  const auto found = table_.find(key);
  if (found != table_.end()) return *found;
  fail("", std::string(key) == "because" ? "a wrong answer has no reason: 'because' is missing"
                                         : text("'", key, "' is missing"));
}

std::string QuizTable::words(const char* key) const {
  const json& found = entry(key);
  if (!found.is_string()) fail(key, text("'", key, "' must be a text in quotes"));
  if (found.get<std::string>().empty()) fail(key, text("'", key, "' is empty"));
  return found.get<std::string>();
}

double QuizTable::number(const char* key) const {
  const json& found = entry(key);
  if (!found.is_number()) fail(key, text("'", key, "' must be a number"));
  return found.get<double>();
}

QuizTable QuizTable::table(const char* key) const {
  const json& found = entry(key);
  if (!found.is_object()) fail(key, text("'", key, "' must be a table"));
  return {file_, found};
}

std::vector<QuizTable> QuizTable::tables(const char* key) const {
  std::vector<QuizTable> all;
  if (!has(key)) return all;
  if (!entry(key).is_array()) fail(key, text("'", key, "' must be a list of tables"));
  for (const json& one : entry(key)) {
    if (!one.is_object()) fail(key, text("'", key, "' must be a list of tables"));
    all.emplace_back(file_, one);
  }
  return all;
}

std::vector<std::string> QuizTable::keys() const {
  Names names;
  for (const auto& [key, value] : table_.items()) {
    if (key != toml_lines) names.push_back(key);
  }
  return names;
}

void QuizTable::refuse_other_keys(const Names& known) const {
  for (const std::string& key : keys()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    fail(key, text("unknown key '", key, "'", did_you_mean(key, known)));
  }
}

json rules_of_question(const QuizTable& question) {
  const std::string type = question.words("type");
  Names known = seen_by_students;
  const Names of_type = rule_keys(type);
  known.insert(known.end(), of_type.begin(), of_type.end());
  json rules;
  if (type == "choice") {
    rules = choice(question);
  } else if (type == "order") {
    rules = order(question);
  } else if (type == "number") {
    rules = number(question);
  } else if (type == "formula") {
    rules = formula(question);
  } else {
    question.fail("type", "there is no type '" + type + "'");
  }
  question.refuse_other_keys(known);
  question.words("title");
  question.words("text");
  keep_rules_below_the_answer(question);
  rules["id"] = question.words("id");
  rules["type"] = type;
  rules["answer"] = question.words("answer");
  return rules;
}

}  // namespace lockstep::grader
