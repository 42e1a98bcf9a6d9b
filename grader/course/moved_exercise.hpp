// Exercises that stood in another lesson of an earlier course: `moved_from` in their manifests.
// A file that a student has at the earlier place is moved to where the lab looks for it now.
#pragma once

#include <string>
#include <vector>

#include "grader/course/workspace.hpp"

namespace lockstep::grader {

// Moves the files in work/, and what the progress knows of them. A file at the new place stays,
// unless nobody has changed it since it was handed out; then the old one replaces it.
//   Returns  a sentence for each file that was moved
//   Throws   UsageError, with the command to type, when a file cannot be moved
std::vector<std::string> take_over_moved(const Places& places, const Course& course);

}  // namespace lockstep::grader
