// Before a part is judged: its player, its lesson's judge and the precompiled contracts are built
// where they are missing or out of date.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// Shows a counter on a terminal while something is built. Does nothing for quizzes, and nothing at
// all unless lab.builds.
//   Throws  Error with the compiler's last words when the lab itself does not build
void make_ready(const Lab& lab, const std::vector<const Exercise*>& exercises,
                PlayerKind kind = PlayerKind::usual);

// The same for other targets of the build.
void make_targets_ready(const Lab& lab, const std::set<std::string>& targets);

}  // namespace lockstep::grader
