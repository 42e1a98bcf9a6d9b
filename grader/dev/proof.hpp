// The proof of a code exercise (quiz_proof.hpp has that of a quiz): that its checks accept what is
// right and reject what is wrong, for the right reason. tests/exercises/NN_lesson/part/ holds
//   mutants.toml             wrong answers: changes of the reference (course/proofs/mutants.hpp)
//   alternatives/NAME.cpp    another right solution
// The stub must be unsolved, the reference must earn all points. Every check of values is run on
// every mutant, every check of costs on those whose values are right; each must fail at least one.
#pragma once

#include <functional>
#include <string>

#include "grader/dev/kill_matrix.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct Proof {
  bool holds = true;
  std::string summary;  // one line a failure, then the counts
  ExerciseKills kills;
  bool remembered = false;  // of an earlier run, so that it took no time now
  double compiling_s = 0;  // processor time of compiling the answers together, if nothing else runs
};

//   judged  is called after each answer
Proof prove_exercise(const Lab& lab, const Exercise& exercise, std::function<void()> judged);

}  // namespace lockstep::grader
