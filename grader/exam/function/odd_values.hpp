// Values that training must not hide, in the samples of one rank; and what a result tells that
// hides them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/dtype.hpp"
#include "grader/judge/causes.hpp"

namespace lockstep::grader {

enum class Odd : std::uint8_t { none, not_a_number, infinity, zeros };
inline constexpr Odd every_odd[] = {Odd::not_a_number, Odd::infinity, Odd::zeros};

// ", a NaN on one rank", as a description goes on.
std::string name_of(Odd odd);

// One number in the middle, or all of them.
void make_odd(std::vector<double>& inputs, Odd odd);

// Why a value is finite where another is expected, or the other way round, in a case in which some
// are not finite.
std::optional<Cause> cause_by_finiteness(std::span<const double> seen,
                                         std::span<const double> expected, std::size_t at);

// The largest finite number of a floating-point type.
double largest_finite(DType dtype);
bool is_too_large(double value, DType dtype);
// The cause where a sum over the ranks is too large for the type and its mean is not.
Cause overflowing_sum(int ranks, DType dtype);
// The same, if it is so of these means.
std::optional<Cause> overflowing_sum(std::span<const double> means, int ranks, DType dtype);

}  // namespace lockstep::grader
