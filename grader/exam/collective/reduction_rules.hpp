// The inputs of a reduction, its right result, and the likely causes of a wrong sum.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"

namespace lockstep::grader {

// The values that the ranks bring.
//   special   floating point: on some ranks NaN, infinities, -0, numbers below the smallest normal
//             one and the largest number, among usual ones
//   extreme   integers: the smallest and the largest, among small ones
//   zeros     in the first call, nothing but zeros on every other rank; in the second, on all
enum class Values : unsigned char { usual, special, extreme, zeros };

struct Reduction {
  DType dtype = DType::int64;
  ReduceOp op = ReduceOp::sum;
  int ranks = 1;
  std::int64_t count = 0;
  Values values = Values::usual;
};

// The smallest and the largest number of a dtype, and the smallest above zero. The largest int64
// becomes 2^63, which no int64 is: to_saturated_bytes brings it back.
double lowest_of(DType dtype);
double largest_of(DType dtype);
double least_of(DType dtype);
// True below the smallest normal number of the dtype, but not for zero.
bool is_subnormal(DType dtype, double value);

// As to_bytes, with `offset` added to each integer; beyond the range of a dtype lies its last
// number.
Bytes to_saturated_bytes(DType dtype, std::span<const double> values, std::int64_t offset = 0);

struct Sums {
  Reduction of;
  std::vector<std::vector<double>> inputs;  // [rank][element], rounded to the dtype
  std::vector<double> expected, tolerance;
};

// The inputs that `salt` and the number of the call draw. Integers that are summed carry one digit
// a rank (hexadecimal up to 13 ranks, octal beyond), so that a wrong sum tells whose value is
// missing.
//   Requires  1 to 17 ranks; special and extreme values are not multiplied
Sums draw_sums(const Reduction& of, std::uint64_t salt, int call);

// Reduces `from` into `to`, as ranks do with two elements.
void reduce_into(double& to, double from, ReduceOp op);

// Reads the digits of a wrong integer sum of element e: "rank 2's value is missing,
// rank 3's value came 2 times". Empty where they say nothing.
std::string provenance(const Sums& sums, std::size_t e, double seen);

}  // namespace lockstep::grader
