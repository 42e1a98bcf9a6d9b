// Before code is graded the whole way from file to points is walked with four files whose fate is
// known: the reference gets all points, the stub none, a file that leaves before main none, one
// that speaks to the assembler none. And each exam that is about to be used is tried on players
// that contain no part: it must refuse them.
#pragma once

#include <filesystem>

#include "grader/batch/run/plan.hpp"
#include "grader/lab/lab.hpp"
#include "grader/sandbox/sandbox.hpp"

namespace lockstep::grader {

// The one whose files they are: messages between ranks, and quickly judged.
const Exercise& canary_exercise(const Course& course);

// Sends both for the code among `units`, which are judged next; nothing where there is none.
//   Throws  Error naming what fared otherwise
void try_judges(const Lab& lab, const Sandbox& sandbox, const std::filesystem::path& area,
                const std::vector<PlannedUnit>& units, int jobs, const std::string& secret);

//   Throws  Error naming the file that fared otherwise
void send_canaries(const Lab& lab, const Sandbox& sandbox, const std::filesystem::path& area,
                   int jobs, const std::string& secret);

// Judges the impostors (grader/dev/impostors.hpp) with the exam of each of the exercises.
//   Throws  Error naming exercise and impostor when one is given anything
void send_impostors(const Lab& lab, const std::vector<const Exercise*>& exercises, int jobs,
                    const std::string& secret);

}  // namespace lockstep::grader
