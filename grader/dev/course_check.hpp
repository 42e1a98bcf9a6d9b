// Checks that manifest, solutions, stubs, tasks, players and proofs agree: nothing is missing,
// nothing is stray, every stub is fresh, and no exercise is too long (exercise_lines.hpp).
#pragma once

#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// One sentence a problem; empty when the course is consistent.
std::vector<std::string> course_problems(const Lab& lab);

// The stub of a code exercise as the reference makes it.
std::string fresh_stub(const Lab& lab, const Exercise& exercise);

}  // namespace lockstep::grader
