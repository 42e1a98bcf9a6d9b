// The references under many seeds. A class is graded with a secret seed, so an exam that refuses
// the right answer under one seed in a hundred costs a right student the points without a trace.
#pragma once

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

Exit references_command(const Lab& lab, const Words& words);  // [NAME…] [--seeds N]

}  // namespace lockstep::grader
