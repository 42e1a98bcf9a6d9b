// How much of what a rank is given repeats. A case that measures memory is no evidence where it
// does: a part may keep equal numbers once. Left out: what is given again much later, as a mask to
// a segment that runs a second time.
#pragma once

#include <cstddef>
#include <span>

namespace lockstep::grader {

// A case that measures memory may repeat so much of what it gives to a rank.
constexpr double repeated_max = 0.02;

// The part of these bytes, from 0 to 1, that a short form could leave out because it was there
// before, within 32 kB: as far back as zlib looks. An estimate, from one of sixteen windows of
// eight bytes: of a megabyte, to less than one percent.
double repeated_in(std::span<const std::byte> given);

}  // namespace lockstep::grader
