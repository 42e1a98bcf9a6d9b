// The usual mistakes, and what they make of the sum of a bucket after a pass.
#pragma once

#include <optional>
#include <vector>

#include "grader/judge/wrong_terms.hpp"
#include "grader/parts/11_sharding/zero_2_gradients/rules.hpp"

namespace lockstep::grader::zero_2_gradients {

using Numbers = std::vector<double>;
using Right = std::vector<std::vector<DrivenGradient>>;  // by pass and parameter

// The numbers of a bucket's parameters, one after the other.
Numbers of_bucket(const Problem& p, std::size_t bucket, const auto& numbers_of) {
  Numbers all;
  for (const std::size_t i : p.plan.buckets[bucket]) {
    const Numbers one = numbers_of(i);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// A pass in which no bucket travelled, though one did in a pass before.
//   started  buckets of this pass
std::optional<Cause> cause_of_rest(std::size_t pass, std::size_t started);

// The wholes of a bucket, as `rank` would see them.
std::vector<Mistake<Numbers>> mistakes_of(const Problem& p, std::size_t bucket, int rank,
                                          const Right& right, std::size_t pass,
                                          std::size_t started);

// Lists what the sum of a bucket after a pass is made of, and what zero_grad has taken out.
std::vector<Term> terms_of(const Problem& p, std::size_t bucket, const Right& right,
                           std::size_t pass);

}  // namespace lockstep::grader::zero_2_gradients
