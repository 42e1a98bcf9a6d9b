// The key of a quiz without its answers, for the students' edition. An answer is right if its hash
// is in the key, and a reason can only be read with the wrong answer that it belongs to.
//
// What is hashed:
//   choice   the letter
//   order    each pair of steps that is in the wrong order, "ba"
//   number   the cell that the number lies in, of a grid whose step is drawn: up to four times
//            finer than the tolerance, so that it tells little of that. Each cell that the rule's
//            range touches has an entry, which hides the range itself, so that the tolerance holds
//            exactly. Six entries a range, some of them empty: their number says nothing either
//   formula  the values at twelve points, to ten digits, all at once; any way to write the right
//            formula has them. The points are chosen so that rounding changes no digit
//
// All hidden reasons have the same length. Whoever has the key can try answers as quickly as the
// hash is computed: all letters of a choice and all pairs of an order at once, at a few
// milliseconds each; a number by trying those that the question suggests, at half a second each
// (slower_rounds). It keeps answers from being read, not from being guessed.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "grader/course/quiz/rules.hpp"

namespace lockstep::grader {

// The sentence that every hashed key begins with, and that ./lab pack prints.
extern const char* const hashes_can_be_guessed;

// The key as JSON; every call draws new salts.
//   rounds  of the hash of a number or a formula
//   Throws  Error when the key is not usable
std::string hashed_key(const std::filesystem::path& key, int rounds);

// As the rules of quiz/rules.hpp, by a question of such a key.
Reason judge_hashed(const nlohmann::json& key, const std::string& answer, const QuizRules& rules,
                    const QuizReader& reader);

// Shared by both sides.

// Which cell of a grid a number lies in: cells are `step` wide in the logarithm, and one of them
// begins at 1.
std::string cell_of(double value, double step);
double step_for(double tolerance);  // the widest: as what it takes for right, at least 2e-9

// The numbers within `width` of `value`, as an entry hides them in front of its reason: always the
// same number of bytes.
struct Range {
  double value = 0, width = 0;
};
std::string with_range(const Range& range, const std::string& reason);
std::pair<Range, std::string> range_and_reason(const std::string& both);

// The values as they are hashed; "" where one has none, or where its digits may be rounded
// otherwise.
std::string digits_of(const std::vector<double>& values);

// A reason that can be read with one answer only: the answer's tag, and the reason hidden.
struct HiddenReason {
  std::string tag, hidden;  // hexadecimal
};
HiddenReason hide(const std::string& answer, const std::string& reason, const std::string& salt,
                  int rounds);

// Opens what an answer opens. The answer is hashed once and tried on many.
class Opener {
 public:
  Opener(const std::string& answer, const std::string& salt, int rounds);
  // nullopt when the reason belongs to another answer.
  std::optional<std::string> read(const HiddenReason& reason) const;

 private:
  std::string tag_, secret_;
};

}  // namespace lockstep::grader
