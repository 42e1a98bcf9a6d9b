// Finds likely causes of a wrong element in a collective's result. Internal to grader/exam.
#pragma once

#include "grader/exam/collective/rules.hpp"
#include "grader/judge/wrong_values.hpp"

namespace lockstep::grader {

// Finds the likely cause for element `at` of a buffer of `rank` after call number `call`. `seen` is
// the whole buffer.
Cause likely_cause(const std::vector<Scene>& calls, DType dtype, std::size_t call, std::size_t rank,
                   std::size_t buffer, std::span<const double> seen, std::size_t at);

// Names the rank that sends to a root which has everything at first: it is wrong, and not those
// that wait for each other.
void tell_sent_to_root(Failure& found, const CollectiveProblem& p, const std::vector<Scene>& calls);

}  // namespace lockstep::grader
