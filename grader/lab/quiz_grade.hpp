// A quiz as a report like any other: one check a question.
#pragma once

#include <filesystem>

#include "grader/course/quiz/reader.hpp"
#include "grader/judge/judge.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// unsolved while no answer is given, pass when all are right; a point's share for each right one.
//   reader   who touches the student's text; none: this process
//   Throws   UnreadableQuiz when the file is no quiz any more
Report grade_quiz(const Lab& lab, const Exercise& exercise, const std::filesystem::path& source,
                  std::uint64_t seed, const QuizReader* reader = nullptr);

}  // namespace lockstep::grader
