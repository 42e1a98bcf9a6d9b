// What a person should look at after a class was taken in: who handed in nothing, nothing that
// counts, or what cannot be read; a few lines, also for hundreds of students.
#pragma once

#include <string>

#include "grader/batch/submission.hpp"

namespace lockstep::grader {

// A line each kind of trouble, with names; the first reasons of each. Empty when there is none.
std::string class_summary(const TakenIn& taken, const Roster& roster);

}  // namespace lockstep::grader
