// The budget of an exercise, and the exercises that were over it before there was one: these are
// listed in tests/exercises/over_budget.txt with what they take, and the list may only shrink.
//
//   06_all_reduce/ring_all_reduce building 9 proving 7 mutants 24
//
// Seconds are measured, so they fail a test when they are twice as many; mutants are counted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "grader/dev/exercise_cost.hpp"

namespace lockstep::grader {

inline constexpr double building_max_s = 8, proving_max_s = 6;
// The most mutants that an exercise has beside those that some check alone is the first to reject.
inline constexpr int mutants_max = 20;

struct Allowed {
  std::optional<double> building_s, proving_s;
  std::optional<int> mutants;  // all of them, as they are now
};
using Exceptions = std::map<std::string, Allowed>;  // by address

//   Throws  UsageError with `shown` and the line when the text is malformed
Exceptions read_exceptions(const std::string& text, const std::string& shown);

// Gives one sentence for what is over the budget by more than measuring differs, and for an
// exception that is larger than it must be. Exceptions of exercises that were not proved are left
// alone.
std::vector<std::string> budget_complaints(const std::vector<ExerciseCost>& costs,
                                           const Exceptions& exceptions);

// Gives every exercise that is over the budget, however little, as a line of the list of
// exceptions.
std::vector<std::string> over_budget(const std::vector<ExerciseCost>& costs);

// ./lab dev costs [--hold]: prints all; with --hold, fails when there are complaints.
Exit costs_command(const Lab& lab, Words words);

}  // namespace lockstep::grader
