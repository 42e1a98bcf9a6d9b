// The predictions that a student has made: work/.predictions, plain text, one a line, fields
// between tabs.
//
//   predicted  lesson  question  answer  held|missed  time
//
// `lesson` is its folder, `question` a hash of the question's text, so that runs may move in a
// lesson and a question that is asked anew is open again. The first answer counts: after the run
// nobody predicts. Never graded. A line that cannot be read is left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace lockstep::grader {

struct PredictionMade {
  std::string answer;
  bool held = false;
  std::int64_t made_at = 0;  // seconds since 1970
};

// By lesson and hash of the question.
using PredictionsMade = std::map<std::pair<std::string, std::uint64_t>, PredictionMade>;

std::uint64_t question_hash(const std::string& question);

// Empty when there is no file yet.
PredictionsMade read_predictions_made(const std::filesystem::path& file);

// Adds a line; makes the file and its folder where they are missing.
void note_prediction(const std::filesystem::path& file, const std::string& lesson,
                     const std::string& question, const PredictionMade& made);

}  // namespace lockstep::grader
