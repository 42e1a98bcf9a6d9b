// SHA-256, for what must be compared by people who do not trust each other: seeds and submissions.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::grader {

std::string sha256(const std::string& bytes);  // 64 hexadecimal digits, as sha256sum prints them

// The seed by which the judge draws the cases of `what`, such as a file of an exercise (plan.hpp):
// there is no way back from it to the secret, nor to the seed of anything else (HMAC-SHA-256).
// Below 2^53, so that every program can write it.
std::uint64_t seed_of(const std::string& secret, const std::string& what);

std::string random_secret();  // 64 hexadecimal digits and a newline, from the system

}  // namespace lockstep::grader
