// A hand-in without a file at its place: what was probably meant.
#pragma once

#include <string>
#include <vector>

#include "grader/course/manifest.hpp"

namespace lockstep::grader {

// "did you mean lockstep-main/Work?" and the like; empty when nothing looks like an exercise.
//   files   paths of the hand-in, normalised (hand_in.hpp)
std::string near_miss(const std::vector<std::string>& files,
                      const std::vector<const Exercise*>& exercises);

}  // namespace lockstep::grader
