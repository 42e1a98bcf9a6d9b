// The lessons' predictions as rows: which there are, and how those that were made came out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/text.hpp"
#include "grader/course/predictions.hpp"
#include "grader/course/predictions_made.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct PredictionRow {
  const Lesson* lesson = nullptr;
  int number = 0;  // of the lesson's runs, from 1
  PredictedRun predicted;
  std::optional<PredictionMade> made;

  std::string name() const { return text(lesson->number(), ".", number); }  // "06.2"
};

// The rows of all lessons, or of one: "06", "6", "06_all_reduce".
//   Throws  UsageError when a predict.toml is wrong, or there is no such lesson
std::vector<PredictionRow> prediction_rows(const Lab& lab, const std::string& lesson = "");

// "predicted 2 of 7 runs, 1 of them right"; "" where there is nothing to predict.
std::string predictions_text(const std::vector<PredictionRow>& rows);

// A line for each, below its lesson.
std::string prediction_list_text(const Lab& lab, const std::vector<PredictionRow>& rows);
nlohmann::json prediction_list_json(const std::vector<PredictionRow>& rows);

// The first that is not made yet, behind `after` and then from the beginning; nullptr: none.
const PredictionRow* open_prediction(const std::vector<PredictionRow>& rows,
                                     const std::string& after = "");

}  // namespace lockstep::grader
