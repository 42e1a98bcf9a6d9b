// The name a person probably meant: every unknown option, exercise or choice is answered with it.
#pragma once

#include <span>
#include <string>

namespace lockstep {

// The candidate with the smallest edit distance to `word` (insert, delete, replace, swap two
// neighbours: one each); the first of equals; "" when there are no candidates.
//   Source  optimal string alignment, [Dam64]
std::string nearest(const std::string& word, std::span<const std::string> candidates);

// That distance.
std::size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace lockstep
