// Reads a student's answers to a quiz, and computes formulas. Of grading a quiz, only this file
// touches a student's text; it knows nothing of the key, so that it can be done where nothing could
// be learnt or broken (grader/sandbox/confined_quiz.hpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::grader {

// Values of a formula's variables, by name.
using Point = std::map<std::string, double>;

struct GivenAnswer {
  std::string id, title, answer;  // answer: as written, without space around it; empty: none yet
};

struct FormulaValues {
  std::vector<double> values;  // by point; perhaps not finite
  std::string problem;         // why there are none: what the parser said
};

// The file is no quiz (any more); the sentence names it, and says how to mend it.
struct UnreadableQuiz : UsageError {
  using UsageError::UsageError;
};

// Reads and computes in this process.
class QuizReader {
 public:
  virtual ~QuizReader() = default;

  // The questions of a file with that content, in its order; `name` is what messages call it,
  // "work/03_collectives/quiz.toml".
  //   Throws  UnreadableQuiz
  virtual std::vector<GivenAnswer> answers(const std::string& content,
                                           const std::string& name) const;

  // Computes the formula at each point; the points have the same variables.
  virtual FormulaValues values(const std::string& formula, const std::vector<Point>& points) const;
};

// How a student gets the file back: "./lab reset 03_collectives/quiz restores the original".
std::string how_to_restore(const std::string& name);

}  // namespace lockstep::grader
