// The questions of a lesson before each of its runs. predict.toml beside its README.md has one
// [[run]] for each ```sh run block there, in the same order.
//
//   question = "…"           what is asked before the run
//   why = "…"                two or three sentences, shown after it
//   [[run.choice]]           two or more answers to choose from:
//   says = "…"                 the answer
//   seen = '''…'''             a regular expression (ECMAScript) that the output of the run holds
//                              when this answer is right; exactly one choice is. Without: never
//   number = '''… (\d+)'''   or, instead of choices, a number: what the first group finds is right
//   unit = "bytes"           its unit
//   close = 0.05             the relative difference that still counts as right; without: exact
//
// So the run itself decides what is right, and nothing here can disagree with it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/course/text/lesson_text.hpp"

namespace lockstep::grader {

struct PredictedChoice {
  std::string says;
  std::string seen;  // empty: never right
};

struct Prediction {
  std::string question, why;
  std::vector<PredictedChoice> choices;  // empty: a number is asked
  std::string number, unit;
  double close = 0;

  bool asks_number() const { return choices.empty(); }
};

//   Throws  UsageError naming file and line when a key is missing, unknown or of the wrong type, or
//           a regular expression does not compile
std::vector<Prediction> predictions_of(const std::filesystem::path& file);

// A run of a lesson with what is asked before it.
struct PredictedRun {
  Run run;
  Prediction prediction;
};

// The questions of the lesson in that folder; empty if it has no predict.toml.
//   Throws  UsageError as above, and when there are not as many as runs
std::vector<PredictedRun> predicted_runs(const std::filesystem::path& folder);

// An answer, and what a run says: the place of a choice, or a number.
struct PredictedValue {
  std::size_t choice = 0;
  double number = 0;
};

// "b", or the number with or without its unit; nullopt when it is neither.
std::optional<PredictedValue> answer_of(const Prediction& prediction, const std::string& typed);

// Reads the value from the output of the run. In a long output, the end is searched.
//   Throws  Error when it holds none of the choices or several, or no number
PredictedValue value_in(const Prediction& prediction, const std::string& output);

bool holds(const Prediction& prediction, const PredictedValue& answer, const PredictedValue& seen);

// 'a', 'b', … of a choice's place.
inline char letter_of(std::size_t choice) { return static_cast<char>('a' + choice); }

// "an answer: a to c", "a number of bytes"
std::string expects_of(const Prediction& prediction);

}  // namespace lockstep::grader
