// Notes where exceptions are thrown, as the return addresses of the calls that led there. A player
// is linked so that each throw passes through here (--wrap=__cxa_throw); which line an address
// belongs to is for the lab to find out (grader/course/compile/thrown_line.hpp).
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace lockstep::grader {

inline constexpr int calls_of_a_throw_max = 32;

// The innermost call first. Empty for an exception that is older than the last few, and in a
// program that watches no throws. Programs without thrown_at.cpp have no such functions. Whoever
// asks has caught the error: what it says, the second one gives once.
[[gnu::weak]] std::vector<std::uint64_t> thrown_at(const std::exception& error);
[[gnu::weak]] std::string take_caught();

}  // namespace lockstep::grader
