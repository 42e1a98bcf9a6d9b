// An explanation as a person reads it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/gpu/explain/explanation.hpp"

namespace lockstep::gpu {

inline constexpr std::size_t lines_shown = 12;  // unless all are asked for

//   lines   of the source that are shown at most
std::string report(const Explanation& of, std::size_t lines = lines_shown);

// A line a kernel family, those that waste most first.
std::string list_of(std::span<const Explanation> all);

}  // namespace lockstep::gpu
