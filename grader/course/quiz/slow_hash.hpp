// A hash that takes milliseconds, so that guessing what was hashed takes time: PBKDF2 [RFC 8018]
// with HMAC-SHA-256.
#pragma once

#include <string>

namespace lockstep::grader {

constexpr int slow_rounds = 5000;
constexpr int slower_rounds = 2'000'000;  // half a second, where there are many answers to try

// As many bytes as asked for. The first are the same for every number asked for.
//   Throws  Error where the lab was built without libssl-dev
std::string slow_hash(const std::string& words, const std::string& salt, std::size_t bytes,
                      int rounds = slow_rounds);

}  // namespace lockstep::grader
