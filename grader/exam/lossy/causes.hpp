// Why a part that reduces gradients in fewer bytes gave other values than the right ones.
#pragma once

#include "grader/exam/lossy/rules.hpp"
#include "grader/judge/wrong_terms.hpp"

namespace lockstep::grader {

// True if this value is right.
bool is_close(double seen, double right, double tolerance);
double tolerance_at(const Right& right, std::size_t i);

// The first mistake of `right` that gives these values, or what they tell by themselves.
//   terms  what could have come into them
Cause cause_of(const Numbers& seen, const Right& right, const std::vector<Term>& terms);

// Lists what the ranks had in a call: gradients, what it kept, and the result of the call before.
std::vector<Term> terms_of(const LossySeen& seen, std::size_t call, const Right& right);

}  // namespace lockstep::grader
