// ./lab dev new: the files of a new exercise, from grader/templates.
#pragma once

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// `words`: NN/NAME --family F [--room R]. Makes contract, reference, stub, task, manifest, exam,
// adapter and an empty list of mutants; no file that is there is touched. What it makes builds, and
// is unsolved until somebody writes the reference.
//   Throws  UsageError when the lesson, family or room is unknown, or the name is taken or no name
Exit new_command(const Lab& lab, const Words& words);

}  // namespace lockstep::grader
