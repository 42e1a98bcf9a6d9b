// The budget of an exercise: seconds of building and of proving, and mutants. What is over it is
// shown. Seconds never fail a test, since two machines differ by more than any bound that would
// find something; mutants are counted, and fail it. Exercises that had more before there was a
// budget are listed in tests/exercises/over_budget.txt, and the list may only shrink:
//
//   06_all_reduce/ring_all_reduce 24
#pragma once

#include <map>
#include <string>
#include <vector>

#include "grader/dev/exercise_cost.hpp"

namespace lockstep::grader {

inline constexpr double building_max_s = 8, proving_max_s = 6;
// The most mutants that an exercise has beside those that some check alone is the first to reject.
inline constexpr int mutants_max = 16;

using Exceptions = std::map<std::string, int>;  // by address: all mutants, or lines

//   Throws  UsageError with `shown` and the line when the text is malformed
Exceptions read_exceptions(const std::string& text, const std::string& shown);

// Gives one sentence for each exercise with too many mutants, and for an exception that is not
// needed or not exact. Exceptions of exercises that were not proved are left alone.
std::vector<std::string> budget_complaints(const std::vector<ExerciseCost>& costs,
                                           const Exceptions& exceptions);

// Gives every exercise that is over the budget, and by what.
std::vector<std::string> over_budget(const std::vector<ExerciseCost>& costs);

// ./lab dev costs [--hold]: prints all; with --hold, fails when there are complaints.
Exit costs_command(const Lab& lab, Words words);

}  // namespace lockstep::grader
