// The proof of an exercise: that its checks accept what is right and reject what is wrong, for the
// right reason. tests/exercises/NN_lesson/part/ holds
//   mutants.toml             wrong answers, as changes of the reference (grader/course/mutants.hpp)
//   alternatives/NAME.cpp    another right solution (.toml for a quiz)
//   kills.md                 what the proof saw: which check fails which mutant
// The stub must be unsolved, the reference must earn all points. Every check is run on every
// mutant, and kills.md must tell the same.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "grader/dev/kill_matrix.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct Proof {
  bool holds = true;
  std::string summary;  // one line a failure, then the counts
  ExerciseKills kills;
  double compiling_s = 0;  // processor time of compiling the answers together, if nothing else runs
};

std::filesystem::path kills_file(const Lab& lab, const Exercise& exercise);

// What kills.md tells.
//   Throws  UsageError naming it when it is missing or is not as it was written
ExerciseKills kept_kills(const Lab& lab, const Exercise& exercise);

//   judged  is called after each answer
Proof prove_exercise(const Lab& lab, const Exercise& exercise, std::function<void()> judged);

}  // namespace lockstep::grader
