// The timeline of an exercise's last check, from ./lab check to ./lab trace.
#pragma once

#include "engine/trace/timeline.hpp"
#include "grader/judge/judge.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// Writes `run` to where ./lab trace finds it; a run of no ranks is none.
void keep_timeline(const Lab& lab, const Exercise& exercise, const Report& report,
                   trace::Timeline run);

}  // namespace lockstep::grader
