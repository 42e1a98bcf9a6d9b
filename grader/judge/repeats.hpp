// How much of what a rank is given repeats. A case that measures memory is no evidence where it
// does: a part may keep equal numbers once.
#pragma once

#include <cstddef>
#include <span>

namespace lockstep::grader {

// A case that measures memory may repeat so much of what it gives to a rank.
constexpr double repeated_max = 0.02;

// The part of these bytes, from 0 to 1, that a short form could leave out because it was there
// before, at any place. An estimate, from one of sixteen windows of eight bytes: of a megabyte, to
// less than one percent.
double repeated_in(std::span<const std::byte> given);

}  // namespace lockstep::grader
