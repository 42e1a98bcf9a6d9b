// Checks that a rank read its own samples, in their order, and finds the likely cause if it did
// not.
#pragma once

#include <optional>

#include "grader/judge/case_runner.hpp"
#include "grader/parts/05_data_parallel/training_loop/oracle.hpp"

namespace lockstep::grader::training_loop {

std::optional<Failure> reading_failure(const DrawnLoop& drawn, int rank,
                                       const std::vector<std::vector<std::int64_t>>& reads);

}  // namespace lockstep::grader::training_loop
