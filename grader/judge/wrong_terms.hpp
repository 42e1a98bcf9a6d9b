// Finds what a wrong sum is made of. Much of training adds up: the gradients of micro-batches,
// passes and ranks, the pushes of a round. An exam names the terms of a sum, and what could have
// come into it besides; the weights with which they give a wrong one are found here. So a term that
// is missing, counts twice, or has the weight of another is told by its name, whatever the mistake.
//
// Told only where the terms give the whole, and the sum has more elements than could be fitted by
// chance.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grader/judge/causes.hpp"

namespace lockstep::grader {

struct Term {
  std::string name;            // "micro-batch 2", "pass 1 of rank 0"
  double weight = 1;           // in the right sum; 0: it does not belong to it
  std::vector<double> values;  // as long as the sum
};

// The cause "term_weight".
//   rounding  how far an element may be off, as a part of the largest one
std::optional<Cause> cause_of_terms(std::span<const double> seen, std::span<const double> right,
                                    const std::vector<Term>& terms, double rounding = 1e-6);

}  // namespace lockstep::grader
