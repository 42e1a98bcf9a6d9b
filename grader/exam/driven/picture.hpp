// The picture of a driven case: which gradient backward computes when, and which bucket is on its
// way meanwhile. The core sees only that a rank asks for its next event, and when it is answered.
#pragma once

#include "engine/trace/timeline.hpp"
#include "grader/exam/driven/run.hpp"

namespace lockstep::grader {

// Draws gradients as computation, and gives collectives the numbers of their buckets, which each
// pass starts in order.
void draw_backward(const DrivenRun& run, std::size_t buckets, trace::Timeline& drawn);

}  // namespace lockstep::grader
