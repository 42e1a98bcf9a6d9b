// Quizzes: questions in a file the student fills in, rules in a key the student's copy lacks. The
// key is the authors' file (quiz/file.hpp), or JSON with hashes (quiz/hashes.hpp).
//
//   choice   one letter; every wrong letter has its reason
//   order    letters; any linear extension of the key's partial order is right
//   number   value and unit (or the word for what it counts), a relative tolerance, known wrong
//   values with their reasons formula  an expression, compared with the key's at sampled points and
//   with what was measured
//
// A reason says what is wrong with the answer given, never what the right one is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/course/quiz/reader.hpp"

namespace lockstep::grader {

struct QuizRules {
  std::uint64_t seed = 1;           // of the points a formula is sampled at
  std::optional<std::string> only;  // judge the question with this id alone
  // The judge's count for a question (by id) at a point; empty: formulas are only compared.
  std::function<double(const std::string& question, const Point& point)> measured;
  // The reader that touches the student's text; null: this process. `shown` is the name of the file
  // in messages; empty: its path.
  const QuizReader* reader = nullptr;
  std::string shown;
};

enum class Answered : unsigned char { right, wrong, open };

struct AnswerReport {
  std::string id, title, given;
  Answered state = Answered::open;
  std::string reason;  // why it is wrong; empty when right or open
};

// One report a question of the key that is judged, in the key's order. The key is read after the
// student's file.
//   Throws  UnreadableQuiz when the student's file is no TOML or lacks a question, UsageError when
//           it is missing, Error when the key is not usable
std::vector<AnswerReport> grade_answers(const std::filesystem::path& answers,
                                        const std::filesystem::path& key, const QuizRules& rules);

}  // namespace lockstep::grader
