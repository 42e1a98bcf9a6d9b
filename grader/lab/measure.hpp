// Measures a run of the reference under the judge, for quiz questions that ask for its counts.
#pragma once

#include <string>

#include "grader/course/quiz/quiz.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// "bytes_formula" at {N ranks, P float32 elements}: the bytes a rank sends in one ring all-reduce,
// the mean over the ranks.
//   Throws  Error for a question that nothing is measured for, or when the run fails
double measured_for_quiz(const Lab& lab, const std::string& question, const Point& point);

}  // namespace lockstep::grader
