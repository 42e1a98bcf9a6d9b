// Likely causes of a wrong result, by its values alone: the usual mistakes that give exactly these
// numbers. Pure functions of what a rank handed back, what it should have, and what the ranks
// brought; the exams say what is special to their parts, and ask here for the rest.
//
// A story is told only where it explains all elements; a guess that fits one of them by chance
// would send a student the wrong way.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "grader/judge/causes.hpp"

namespace lockstep::grader {

// One buffer of one rank after a call.
struct WrongValues {
  std::span<const double> seen, expected, tolerance;  // tolerance empty: exact
  int rank = 0, ranks = 1;
  std::vector<std::span<const double>> inputs{};  // by rank, as long as expected; or empty
  std::span<const double> previous{};             // what was right after the call before, or empty
};

// Every element is `ranks` times too large, or too small, or too small twice: a mean where a sum
// belongs, or the other way round. The exam says which of them can be.
bool is_scaled(const WrongValues& values, double factor);

// Finds a result that is what this rank brought, with nothing of the others' data.
std::optional<Cause> own_data_only(const WrongValues& values);
// The sum lacks what one rank brought, or has it twice.
std::optional<Cause> one_rank_wrong(const WrongValues& values);
// Finds a result that was right in the call before.
std::optional<Cause> stale(const WrongValues& values);
// Right values in N equal blocks that stand in wrong places: one place on, or in another order.
std::optional<Cause> blocks_moved(const WrongValues& values);
// Right values, read by columns where rows belong.
std::optional<Cause> transposed(const WrongValues& values);
// Right but for the last elements, those that N equal blocks leave over.
std::optional<Cause> tail_missing(const WrongValues& values);
// Close, and further away than the order of additions explains: a narrower type on the way.
std::optional<Cause> rounding_only(const WrongValues& values);
// Right to the digits of a narrower type, and numbers of it: the right ones are none.
std::optional<Cause> narrower_type(std::span<const double> seen, std::span<const double> expected);
// NaN, or the -1 of integers, is what an adapter puts into memory that nobody has written to.
std::optional<Cause> unwritten(const WrongValues& values, std::size_t at);

// The first of these that fits.
std::optional<Cause> likely_cause(const WrongValues& values, std::size_t first_wrong);

}  // namespace lockstep::grader
