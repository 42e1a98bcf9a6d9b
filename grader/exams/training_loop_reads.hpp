// Whether a rank read the samples that are its own, in their order; and if not, why probably.
#pragma once

#include <optional>

#include "grader/exams/training_loop_oracle.hpp"
#include "grader/judge/bench.hpp"

namespace lockstep::grader {

std::optional<Failure> reading_failure(const DrawnLoop& drawn, int rank,
                                       const std::vector<std::vector<std::int64_t>>& reads);

}  // namespace lockstep::grader
