// When each file was handed in. The platform knows: it says so in a column of the roster or beside
// the hand-ins, but only of the last one. A student who hands in lesson 06 hands in 05 again, too.
// The files' own times are a makeshift, since copying and unpacking change them: they are taken
// only when that is asked for. So a file has the earliest time of its content that the journal saw.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "grader/batch/hand_ins/submission.hpp"
#include "grader/batch/policy/late.hpp"

namespace lockstep::grader {

inline constexpr const char* time_of_files = "mtime";
inline constexpr const char* time_of_gradescope = "gradescope";

// The source of the times: `asked` ("mtime", "gradescope" or a column of the roster) or, when that
// is empty, what the naming and the roster offer.
//   Throws  UsageError when there is no such column, or nothing is offered
std::string time_source(const std::string& asked, const std::string& naming, const Roster& roster);

// The journal's record (grades.hpp).
//   before   the last such record, or nullptr
//   Throws   UsageError with the roster's line and column for what is no time
nlohmann::json hand_in_times(const std::string& source, const TakenIn& taken, const Roster& roster,
                             const LatePolicy& policy, const nlohmann::json* before);

// Students of whom there is a file and no time: nothing of theirs counts as late.
std::vector<std::string> without_a_time(const nlohmann::json& times, const TakenIn& taken);

}  // namespace lockstep::grader
