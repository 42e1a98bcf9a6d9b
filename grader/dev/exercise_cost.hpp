// An exercise adds processor seconds to a build of everything and to its tests. Each proof
// notes its own in build/<preset>/proofs/NN_lesson/part.cost, and cmake/measured.sh those of a
// part's objects in build/<preset>/times/. A build with a compiler cache measures no objects.
//
// Machines differ and are busy, so the same piece of work is measured beside each proof, and
// seconds are told as those of a machine that does it in `yardstick_usual_s`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

inline constexpr double yardstick_usual_s = 0.02;

// This is what a proof notes.
struct ProofCost {
  int mutants = 0;
  int alone = 0;           // mutants without which some check would reject none before the others
  double compiling_s = 0;  // the stub, the mutants and the alternatives
  double judging_s = 0;
  double yardstick_s = yardstick_usual_s;
};

struct ExerciseCost {
  std::string address;
  int lines = 0;                    // of all its files (exercise_lines.hpp)
  std::optional<double> objects_s;  // exam, player and reference; of a shared unit, by length
  ProofCost proof;

  bool is_quiz() const { return address.ends_with("/quiz"); }
  double building_s() const { return usual(objects_s.value_or(0) + proof.compiling_s); }
  double proving_s() const { return usual(proof.judging_s); }

 private:
  double usual(double seconds) const { return seconds * yardstick_usual_s / proof.yardstick_s; }
};

// Gives the processor seconds of this process and of all that it has waited for.
double processor_seconds_used();
// Does a fixed piece of work, and gives its processor seconds.
double yardstick_seconds();

void note_cost(const Lab& lab, const Exercise& exercise, const ProofCost& cost);

// Gives the costs of all exercises that have been proved in this build.
std::vector<ExerciseCost> noted_costs(const Lab& lab);

// The sum of what `times` of a shell tells of its children: "0m1.5s 0m0.25s" is 1.75.
double seconds_of_children(const std::string& times);

// One line an exercise, then the sums.
std::string table_of(const std::vector<ExerciseCost>& costs);

}  // namespace lockstep::grader
