// The lines of an exercise, in all the files that are its own: task, manifest and stub, the
// reference, the judge's side, mutants and alternatives. Exercises that had more before there was a
// budget are listed in tests/exercises/long_exercises.txt with a bound, and a bound may only fall:
//
//   11_sharding/fully_sharded 1250
#pragma once

#include <string>
#include <vector>

#include "grader/dev/exercise_budget.hpp"

namespace lockstep::grader {

inline constexpr int lines_max = 700;
// A listed bound is at most this far above the lines.
inline constexpr int lines_slack = 50;

int lines_of(const Places& places, const Exercise& exercise);

// One sentence for an exercise with more lines than it may have, or with a bound that is not needed
// or could be lower; nothing otherwise. `bound` is null where none is listed.
std::string line_complaint(const std::string& address, int lines, const int* bound);

// Gives the complaints of all code exercises, and of bounds for what is no exercise.
//   Throws  UsageError when the list is malformed
std::vector<std::string> line_complaints(const Lab& lab);

}  // namespace lockstep::grader
