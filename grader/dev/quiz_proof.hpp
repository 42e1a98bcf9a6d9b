// The proof of a quiz: each answer that its file implies (grader/course/quiz/answers.hpp) is given,
// and judged as a student's. Right ones must pass with all points; a wrong one must fail its own
// question and no other, with the reason that the file states.
#pragma once

#include <functional>

#include "grader/dev/proof.hpp"

namespace lockstep::grader {

//   judged  is called after each file of answers
Proof prove_quiz(const Lab& lab, const Exercise& quiz, const std::function<void()>& judged);

}  // namespace lockstep::grader
