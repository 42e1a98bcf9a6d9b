// The name a person probably meant: every unknown option, exercise or choice is answered with it.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace lockstep {

// The candidate with the smallest edit distance to `word` (insert, delete, replace, swap two
// neighbours: one each); the first of equals. A distance of more than half of the longer word's
// letters is no typing error. Then the first candidate that begins with `word`, if this has three
// letters or more; else nullopt.
//   Source  optimal string alignment, [Dam64]
std::optional<std::string> nearest(const std::string& word,
                                   std::span<const std::string> candidates);

// "; did you mean <prefix>ring?", the middle of a sentence about an unknown word; "" when there is
// nothing to propose.
std::string did_you_mean(const std::string& word, std::span<const std::string> candidates,
                         const std::string& prefix = "");

// That distance.
std::size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace lockstep
