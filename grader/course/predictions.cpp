#include "grader/course/predictions.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/text/quantity.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/course/text/toml_file.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

// The library matches by recursion, a frame a letter: this much fits any stack.
constexpr std::size_t searched_bytes = 8 << 10;
constexpr std::size_t choices_max = 26;

// A table of the file, read key by key. Whatever is wrong is said with file and line.
class PredictionTable {
 public:
  PredictionTable(const json& table, const std::string& file) : table_(table), file_(file) {}

  std::string words(const std::string& key) {
    const std::string words = optional_words(key);
    if (words.find_first_not_of(" \n") == std::string::npos) {
      refuse("", text("the key '", key, "' is missing or empty"));
    }
    return words;
  }
  std::string optional_words(const std::string& key) {
    const json* value = find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) refuse(key, text("'", key, "' is not a string"));
    return value->get<std::string>();
  }
  double share(const std::string& key) {
    const json* value = find(key);
    if (value == nullptr) return 0;
    const bool good = value->is_number() && value->get<double>() >= 0 && value->get<double>() < 1;
    if (!good) refuse(key, text("'", key, "' is not a number from 0 to 1: ", write_json(*value)));
    return value->get<double>();
  }
  std::vector<PredictionTable> tables(const std::string& key) {
    const json* value = find(key);
    if (value == nullptr) return {};
    const bool good = value->is_array() && std::ranges::all_of(*value, [](const json& entry) {
                        return entry.is_object();
                      });
    if (!good) refuse(key, text("'", key, "' is not a list of tables"));
    std::vector<PredictionTable> tables;
    for (const json& entry : *value) tables.emplace_back(entry, file_);
    return tables;
  }
  std::regex pattern(const std::string& key, const std::string& written) const {
    try {
      return std::regex(written, std::regex::ECMAScript);
    } catch (const std::regex_error& error) {
      refuse(key, text("'", key, "' is not a regular expression: ", error.what()));
    }
  }
  void refuse_unknown() const {
    for (const auto& [key, value] : table_.items()) {
      if (key == toml_lines || std::ranges::count(known_, key) > 0) continue;
      refuse(key, text("there is no key '", key, "'", did_you_mean(key, known_)));
    }
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& problem) const {
    const int line = std::max(1, table_.at(toml_lines).at(key).get<int>());
    throw UsageError(text(file_, ":", line, ": ", problem));
  }

 private:
  const json* find(const std::string& key) {
    known_.push_back(key);
    const auto found = table_.find(key);
    return found == table_.end() ? nullptr : &*found;
  }
  const json& table_;
  const std::string& file_;
  std::vector<std::string> known_;
};

Prediction prediction_of(PredictionTable& table) {
  Prediction prediction;
  prediction.question = table.words("question");
  prediction.why = table.words("why");
  for (PredictionTable& choice : table.tables("choice")) {
    PredictedChoice& read = prediction.choices.emplace_back();
    read.says = choice.words("says");
    read.seen = choice.optional_words("seen");
    if (!read.seen.empty()) choice.pattern("seen", read.seen);
    choice.refuse_unknown();
  }
  prediction.number = table.optional_words("number");
  prediction.unit = table.optional_words("unit");
  prediction.close = table.share("close");
  table.refuse_unknown();
  if (prediction.number.empty() == prediction.choices.empty()) {
    table.refuse("", "a run has either choices or a number");
  }
  if (!prediction.number.empty() && table.pattern("number", prediction.number).mark_count() < 1) {
    table.refuse("number", "'number' needs a group, such as (\\d+), that finds the number");
  }
  const auto right = std::ranges::count_if(
      prediction.choices, [](const PredictedChoice& choice) { return !choice.seen.empty(); });
  const std::size_t count = prediction.choices.size();
  if (!prediction.asks_number() && (count < 2 || count > choices_max || right == 0)) {
    table.refuse("choice", "a run has two or more choices, and one of them has 'seen'");
  }
  return prediction;
}

std::string end_of(const std::string& output) {
  return output.substr(output.size() - std::min(output.size(), searched_bytes));
}

}  // namespace

std::vector<Prediction> predictions_of(const std::filesystem::path& file) {
  const json document = read_toml_with_lines(file);
  const std::string shown = file.string();
  PredictionTable whole(document, shown);
  std::vector<Prediction> predictions;
  for (PredictionTable& run : whole.tables("run")) predictions.push_back(prediction_of(run));
  whole.refuse_unknown();
  return predictions;
}

std::vector<PredictedRun> predicted_runs(const std::filesystem::path& folder) {
  const auto file = folder / "predict.toml";
  if (!std::filesystem::is_regular_file(file)) return {};
  const std::vector<Prediction> predictions = predictions_of(file);
  const std::vector<Run> runs = runs_of(read_text(folder / "README.md"));
  if (runs.size() != predictions.size()) {
    throw UsageError(text(file.string(), ":1: has ", predictions.size(), " [[run]], but ",
                          (folder / "README.md").string(), " has ", runs.size(), " ```sh run"));
  }
  std::vector<PredictedRun> predicted;
  for (std::size_t i = 0; i < runs.size(); ++i) predicted.push_back({runs[i], predictions[i]});
  return predicted;
}

std::optional<PredictedValue> answer_of(const Prediction& prediction, const std::string& typed) {
  const std::size_t first = typed.find_first_not_of(" \t");
  if (first == std::string::npos) return std::nullopt;
  const std::string answer = typed.substr(first, typed.find_last_not_of(" \t\r.") - first + 1);
  if (!prediction.asks_number()) {
    const int letter = answer.size() == 1 ? std::tolower(answer[0] & 0xff) : 0;
    const auto place = static_cast<std::size_t>(letter - 'a');
    if (letter < 'a' || place >= prediction.choices.size()) return std::nullopt;
    return PredictedValue{place, 0};
  }
  const auto given = quantity_of(answer);
  if (!given) return std::nullopt;
  if (given->unit.empty() || given->unit == prediction.unit) return PredictedValue{0, given->value};
  const double own = bytes_of_unit(prediction.unit);
  const double typed_unit = bytes_of_unit(given->unit);
  if (own == 0 || typed_unit == 0) return std::nullopt;
  return PredictedValue{0, given->value * typed_unit / own};
}

PredictedValue value_in(const Prediction& prediction, const std::string& output) {
  const std::string searched = end_of(output);
  if (prediction.asks_number()) {
    std::smatch match;
    const bool found = std::regex_search(searched, match, std::regex(prediction.number));
    const auto number = quantity_of(found ? match[1].str() : "");
    if (!number) throw Error("the output of the run has no number where the lesson expects one");
    return {0, number->value};
  }
  std::vector<std::size_t> seen;
  for (std::size_t i = 0; i < prediction.choices.size(); ++i) {
    const std::string& pattern = prediction.choices[i].seen;
    if (!pattern.empty() && std::regex_search(searched, std::regex(pattern))) seen.push_back(i);
  }
  if (seen.size() != 1) {
    throw Error(text("the output of the run matches ", seen.empty() ? "none" : "several",
                     " of the answers"));
  }
  return {seen.front(), 0};
}

bool holds(const Prediction& prediction, const PredictedValue& answer, const PredictedValue& seen) {
  if (!prediction.asks_number()) return answer.choice == seen.choice;
  constexpr double digits = 1e-12;  // what writing a number in decimals costs
  return std::fabs(answer.number - seen.number) <=
         (prediction.close + digits) * std::fabs(seen.number);
}

std::string expects_of(const Prediction& prediction) {
  if (!prediction.asks_number()) {
    return text("one letter, a to ", letter_of(prediction.choices.size() - 1));
  }
  return prediction.unit.empty() ? "a number" : text("a number, in ", prediction.unit);
}

}  // namespace lockstep::grader
