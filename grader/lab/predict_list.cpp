#include "grader/lab/predict_list.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

bool is_lesson(const Lesson& lesson, const std::string& word) {
  const std::string number = lesson.number();
  return word == lesson.folder || word == number || (number[0] == '0' && word == number.substr(1));
}

std::string first_line(const std::string& words) {
  std::istringstream lines(words);
  std::string line;
  std::getline(lines >> std::ws, line);
  return line;
}

std::string state_word(const PredictionRow& row, Paint paint) {
  if (!row.made) return padded("open", 8);
  return row.made->held ? green(paint, padded("right", 8)) : yellow(paint, padded("missed", 8));
}

}  // namespace

std::vector<PredictionRow> prediction_rows(const Lab& lab, const std::string& lesson) {
  const PredictionsMade made = read_predictions_made(lab.places.predictions());
  std::vector<PredictionRow> rows;
  bool known = lesson.empty();
  for (const Lesson& one : lab.course.lessons) {
    if (!lesson.empty() && !is_lesson(one, lesson)) continue;
    known = true;
    int number = 0;
    for (PredictedRun& predicted : predicted_runs(lab.places.lesson(one))) {
      PredictionRow row{&one, ++number, std::move(predicted), std::nullopt};
      const auto found = made.find({one.folder, question_hash(row.predicted.prediction.question)});
      if (found != made.end()) row.made = found->second;
      rows.push_back(std::move(row));
    }
  }
  if (!known) throw UsageError("there is no lesson '" + lesson + "'; ./lab lists them");
  return rows;
}

std::string predictions_text(const std::vector<PredictionRow>& rows) {
  if (rows.empty()) return "";
  const auto made =
      std::ranges::count_if(rows, [](const PredictionRow& row) { return row.made.has_value(); });
  const auto held = std::ranges::count_if(
      rows, [](const PredictionRow& row) { return row.made && row.made->held; });
  return text("predictions made ", made, " of ", rows.size(),
              made == 0 ? std::string() : text(", ", held, " of them right"));
}

std::string prediction_list_text(const Lab& lab, const std::vector<PredictionRow>& rows) {
  std::string out;
  const Lesson* lesson = nullptr;
  for (const PredictionRow& row : rows) {
    if (row.lesson != lesson) {
      out += text(lesson == nullptr ? "" : "\n", bold(lab.paint, row.lesson->number()), "  ",
                  bold(lab.paint, row.lesson->title), "\n");
    }
    lesson = row.lesson;
    out += text("  ", padded(row.name(), 6), state_word(row, lab.paint), "  ",
                first_line(row.predicted.prediction.question), "\n");
  }
  out += "\n" + predictions_text(rows) + "; they earn no points\n";
  const PredictionRow* next = open_prediction(rows);
  if (next != nullptr) out += text("next      ./lab predict ", next->name(), "\n");
  return out;
}

nlohmann::json prediction_list_json(const std::vector<PredictionRow>& rows) {
  auto list = nlohmann::json::array();
  for (const PredictionRow& row : rows) {
    list.push_back({{"run", row.name()},
                    {"lesson", row.lesson->folder},
                    {"question", row.predicted.prediction.question},
                    {"made", row.made.has_value()},
                    {"answer", row.made ? nlohmann::json(row.made->answer) : nlohmann::json()},
                    {"held", row.made ? nlohmann::json(row.made->held) : nlohmann::json()}});
  }
  return list;
}

const PredictionRow* open_prediction(const std::vector<PredictionRow>& rows,
                                     const std::string& after) {
  const PredictionRow* first = nullptr;
  bool behind = after.empty();
  for (const PredictionRow& row : rows) {
    if (!row.made && row.name() != after) {
      if (behind) return &row;
      if (first == nullptr) first = &row;
    }
    behind = behind || row.name() == after;
  }
  return first;
}

}  // namespace lockstep::grader
