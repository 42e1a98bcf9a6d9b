// Computes what top_k_error_feedback must leave: each call by itself, from what the ranks kept
// before it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/dtype.hpp"
#include "grader/exam/lossy/rules.hpp"

namespace lockstep::grader::top_k_error_feedback {

struct Sparsity {
  double fraction = 0.1;
  DType dtype = DType::float32;
};

// fraction · count to the nearest integer, at least 1 where there is an element.
std::int64_t entries_of(std::int64_t count, double fraction);

// The mean of what the ranks must send in a call.
Right right_mean(const LossySeen& seen, std::size_t call, const Sparsity& asked);
// The residual that must be left on a rank, exactly, because nothing is computed but one sum.
Right right_residual(const LossySeen& seen, std::size_t call, int rank, const Sparsity& asked);

}  // namespace lockstep::grader::top_k_error_feedback
