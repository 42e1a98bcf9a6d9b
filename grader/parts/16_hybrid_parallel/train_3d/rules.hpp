// The right answers of train_3d, and what a wrong one tells.
#pragma once

#include <optional>
#include <string>

#include "grader/judge/case_runner.hpp"
#include "grader/parts/16_hybrid_parallel/train_3d/case.hpp"

namespace lockstep::grader::train_3d {

// "copies along tp, dp; each has a part along tp"
std::string words_of(const KindBits& gradient);

// Nothing if the answer is right.
std::optional<Failure> wrong(const TrainQuestion& q, const TrainAnswer& seen);

}  // namespace lockstep::grader::train_3d
