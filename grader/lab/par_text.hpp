// Par in words: how near a part that passed is to the best known solution of its task.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "grader/course/manifest.hpp"
#include "grader/judge/par.hpp"

namespace lockstep::grader {

// "★★★ bytes, steps, messages and time as in the best known broadcast"; with fewer stars also what
// is not, and where to see it. "" when nothing was counted.
std::string par_text(const std::vector<ParCounter>& par, const Exercise& exercise);

// The stars and the counters; null when nothing was counted.
nlohmann::json par_json(const std::vector<ParCounter>& par);

}  // namespace lockstep::grader
