// Computes what power_sgd must leave: each call by itself, from what the ranks kept before it, in
// float64.
#pragma once

#include <cstdint>
#include <vector>

#include "grader/exam/lossy/exam.hpp"
#include "grader/parts/10_compression/power_sgd/case.hpp"

namespace lockstep::grader::power_sgd {

using Problem = LossyProblem<PowerSgdSettings>;

// A gradient of the bucket.
struct MatrixSlice {
  std::int64_t at = 0, rows = 0, columns = 0;
  std::int64_t rank = 0;  // of P and Q; 0 where it travels as it is
  std::int64_t q_at = 0;  // of its Q, behind all residuals
  std::int64_t count() const { return rows * columns; }
};

struct Plan {
  std::vector<MatrixSlice> places;
  std::int64_t count = 0, plain = 0, p_count = 0, q_count = 0;
};
Plan plan_of(const PowerSgdSettings& settings);

// The bucket that must result from a call.
Right right_bucket(const LossySeen& seen, std::size_t call, const Problem& p);
// The norm of what no rows of Q make of a matrix of a call's result: zero, where the Q that a rank
// keeps is that of P·Qᵀ. Q's own elements depend on rounding where its columns are nearly parallel.
double outside_span(const LossySeen& seen, std::size_t call, const MatrixSlice& place,
                    std::int64_t count);
double span_tolerance(const LossySeen& seen, std::size_t call, const Problem& p);
// The residual that must be left on a rank. For Q, behind it, only that its elements are numbers.
Right right_residual(const LossySeen& seen, std::size_t call, int rank, const Problem& p);

}  // namespace lockstep::grader::power_sgd
