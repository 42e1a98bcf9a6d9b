// The proof of an exercise: that its checks accept what is right and reject what is wrong, for the
// right reason. tests/exercises/NN_lesson/part/ holds
//   mutants.toml             wrong answers, as changes of the reference (grader/course/mutants.hpp)
//   alternatives/NAME.cpp    another right solution (.toml for a quiz)
// The stub must be unsolved, the reference must earn all points. Every check is run on every
// mutant.
#pragma once

#include <filesystem>
#include <string>

#include "grader/lab/kill_matrix.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct Proof {
  bool holds = true;
  std::string summary;  // one line a failure, then the counts
  ExerciseKills kills;
};

// docs/kill_matrix.md
std::filesystem::path kill_page_file(const Lab& lab);

Proof prove_exercise(const Lab& lab, const Exercise& exercise);

}  // namespace lockstep::grader
