// Names the mistake behind an exception that the engine or the standard library threw inside a
// part. The text comes from a player, so it explains a failure and decides nothing.
#pragma once

#include <optional>
#include <string_view>

#include "grader/judge/case_runner.hpp"

namespace lockstep::grader {

// The usual mistake that ends in an exception with this text; nothing if none is known.
std::optional<Cause> cause_of_error(std::string_view text);

// Adds it to a crash that has no cause of its own yet. A failure of another kind stays as it is.
Failure with_cause_of_error(Failure found);

}  // namespace lockstep::grader
