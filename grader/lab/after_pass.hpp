// Says how to go on with a part that has passed: see it at work, and begin the next one.
#pragma once

#include <string>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// "./lab train --with work --ranks 2 --join live": the command in which the part does its work, or
// else the one that compares its cost. "" for a part that no program calls.
std::string command_with(const Exercise& exercise);

// The lines of ./lab check after a pass: that command, and the next exercise.
std::string after_pass(const Lab& lab, const Exercise& exercise, const Progress& progress);

}  // namespace lockstep::grader
