// --regrade STUDENT[/EXERCISE],…: which files are judged again although there are results. The
// student * is everybody, and EXERCISE may be a lesson.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "grader/course/manifest.hpp"

namespace lockstep::grader {

struct Regrade {
  std::string asked;                // as it was typed
  std::string student;              // "*": all
  std::set<std::string> exercises;  // their addresses; empty: all
};

//   Throws  UsageError when an exercise is unknown or a name is missing
std::vector<Regrade> read_regrades(const std::string& list, const Course& course);

// The record (current_results.hpp) for a plan's files.
//   Throws  UsageError when there is no such student, or nothing of theirs to judge
nlohmann::json regrade_record(const std::vector<Regrade>& asked, const nlohmann::json& plan);

// Those of `changed`, the addresses of exercises with a new version, that are not judged again for
// everybody.
std::vector<std::string> mixed_exercises(const std::vector<Regrade>& asked,
                                         const std::vector<std::string>& changed);

}  // namespace lockstep::grader
