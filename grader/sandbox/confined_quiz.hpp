// A student's quiz, read by a process that could neither see nor break anything: lab-reader.
#pragma once

#include <filesystem>

#include "engine/base/bytes.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/quiz/reader.hpp"
#include "grader/course/workspace.hpp"

namespace lockstep::grader {

class ConfinedQuizReader final : public QuizReader {
 public:
  // The files to be read are put into `folder`.
  ConfinedQuizReader(const Places& places, const std::filesystem::path& folder);

  // A reader of answers that crashed, or used up its time or memory, found an UnreadableQuiz; one
  // of a formula says so as its problem.
  //   Throws  also Error when lab-reader cannot be run or confined: the lab's failure
  std::vector<GivenAnswer> answers(const std::string& content,
                                   const std::string& name) const override;
  FormulaValues values(const std::string& formula, const std::vector<Point>& points) const override;

 private:
  std::string asked(const std::string& kind, const std::string& content, const std::string& name,
                    const std::string& otherwise, const CommandLimits& limits) const;

  std::filesystem::path program_, folder_;
  mutable std::string name_ = "the quiz";  // as last read
};

// The messages between the two processes. Reading throws MalformedMessage, and never allocates more
// than is there.
struct FormulaQuestion {
  std::string formula;
  std::vector<Point> points;
};
void write_formula(ByteWriter& out, const FormulaQuestion& question);
FormulaQuestion read_formula(const std::string& bytes);
void write_answers(ByteWriter& out, const std::vector<GivenAnswer>& answers);
std::vector<GivenAnswer> read_answers(ByteReader& in);
void write_values(ByteWriter& out, const FormulaValues& values);
FormulaValues read_values(ByteReader& in);

}  // namespace lockstep::grader
