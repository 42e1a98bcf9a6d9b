// The inputs of a reduction, its right result, and the likely causes of a wrong sum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/dtype.hpp"

namespace lockstep::grader {

struct Reduction {
  DType dtype = DType::int64;
  ReduceOp op = ReduceOp::sum;
  int ranks = 1;
  std::int64_t count = 0;
};

struct Sums {
  Reduction of;
  std::vector<std::vector<double>> inputs;  // [rank][element], rounded to the dtype
  std::vector<double> expected, tolerance;
};

// The inputs that `salt` and the number of the call draw. Integers that are summed carry one digit
// a rank (hexadecimal up to 13 ranks, octal beyond), so that a wrong sum tells whose value is
// missing.
//   Requires  1 to 17 ranks
Sums draw_sums(const Reduction& of, std::uint64_t salt, int call);

// Reads the digits of a wrong integer sum of element e: "rank 2's value is missing,
// rank 3's value came 2 times". Empty where they say nothing.
std::string provenance(const Sums& sums, std::size_t e, double seen);

}  // namespace lockstep::grader
