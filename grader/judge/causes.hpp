// Why a result is wrong, as far as the judge can tell, and the causes that several exams share: a
// failure's one word, by which hints are chosen and counts are kept, and what it means. A cause
// that only one exam can find stands in that exam.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::grader {

struct Cause {
  std::string name;      // one of common_causes(), or an exam's own
  std::string sentence;  // what comes behind lead_to(name)
};

// A usual mistake, and the result that it gives.
template <typename Result>
struct Mistake {
  Cause cause;
  Result gives;
};

struct CauseMeaning {
  std::string_view name;     // "tail_lost"
  std::string_view meaning;  // "only the elements left over by N equal blocks are wrong"
};

// A message tells its cause behind one of these. A cause called "other_…" is the last word of an
// exam that recognised no mistake: it says what is right, and blames none.
inline constexpr std::string_view lead_to_cause = "; likely cause: ",
                                  lead_to_check = "; what to check: ";
constexpr std::string_view lead_to(std::string_view cause) {
  return cause.starts_with("other_") ? lead_to_check : lead_to_cause;
}
// Gives the place where that lead begins; the size of a message that tells no cause.
constexpr std::size_t lead_in(std::string_view message) {
  return std::min({message.find(lead_to_cause), message.find(lead_to_check), message.size()});
}

std::span<const CauseMeaning> common_causes();

// Empty for a cause that is an exam's own.
std::string_view meaning_of_cause(std::string_view name);

}  // namespace lockstep::grader
