// ./lab grade: a class, in the sandbox.
#pragma once

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

Exit grade_command(const Lab& lab, const Words& words);

}  // namespace lockstep::grader
