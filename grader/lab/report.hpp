// A grade as words for a person, and as the JSON that CLI documents.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "grader/lab/grade.hpp"

namespace lockstep::grader {

enum class Times : unsigned char { hidden, shown };

// The verdict, the first failing check (where, expected, seen, counters, replay), the checks as a
// list, what ranks printed, and what to type next.
std::string words_of(const Grade& grade, const Lab& lab, const Exercise& exercise, Times times);

nlohmann::json json_of(const Grade& grade);

}  // namespace lockstep::grader
