// What CHANGELOG.md owes to the manifests: each version of an exercise that judges otherwise has
// its line, "- `NAME` VERSION: why", under the day it came, newest day first.
#pragma once

#include <string>
#include <vector>

#include "grader/course/manifest.hpp"

namespace lockstep::lessons {

// One sentence for each version from 2 on that has no line, each line of an exercise or a version
// that the manifests do not have, and each day that does not come before the one above it.
std::vector<std::string> changelog_problems(const std::string& changelog,
                                            const grader::Course& course);

}  // namespace lockstep::lessons
