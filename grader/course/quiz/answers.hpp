// Answers to a quiz that its rules imply: other right ones, and wrong ones with what must be said
// of each. A proof gives all of them.
//
//   choice   right: its letter in upper case. Wrong: every other letter, and one beyond the last
//   order    right: another order that respects the edges, if there is one, and other separators.
//            Wrong: for each edge, an order that violates it (no other edge, where that is
//            possible), and the answer without its last step
//   number   right: with its word or in another unit, and inside the tolerance on either side.
//            Wrong: each known mistake, a value outside the tolerance, no unit, the unit of 1,024
//   formula  right: those written beside the answer, and the answer times one. Wrong: each known
//            mistake, and one thousandth too much
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lockstep::grader {

struct WrongAnswer {
  std::string answer, says;  // words of the reason
};

// By the rules of one question, as quiz_rules() has them. Pure functions.
std::vector<std::string> other_right_answers(const nlohmann::json& rules);
std::vector<WrongAnswer> wrong_answers(const nlohmann::json& rules);

}  // namespace lockstep::grader
