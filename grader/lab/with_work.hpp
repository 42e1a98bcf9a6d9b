// What a run of the trainer makes of a student's part, as the part's manifest says (CalledBy).
#pragma once

#include <string>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// "yours", and why the run with these words will not call it, if it will not.
std::string words_for_yours(const CalledBy& called_by, const Words& run);

// The option that the run has to be given so that the part is called; "" where none is.
std::string added_option(const CalledBy& called_by, const Words& run);

}  // namespace lockstep::grader
