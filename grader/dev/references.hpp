// The references under many seeds. A class is graded with a secret seed, so an exam that refuses
// the right answer under one seed in a hundred costs a right student the points without a trace.
#pragma once

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// [NAME…] [--seeds N] [--afresh] [--alternatives]: with the last, also the right answers of
// tests/exercises.
Exit references_command(const Lab& lab, Words words);

}  // namespace lockstep::grader
