// The instructor's decisions by hand: points or a comment for a student's exercise, or a comment
// for the student, with the reason. A table with the headings student, exercise, points, comment,
// reason, in any order:
//
//   student,exercise,points,comment,reason
//   amy,ring_all_reduce,8,,the task was misleading
//   bob,,,see me after class,
//
// Points of a person stand as they are: no lateness changes them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "grader/course/manifest.hpp"

namespace lockstep::grader {

struct Override {
  int line = 0;          // of the file
  std::string student;   // as readable_name() writes it
  std::string exercise;  // its address; empty: the student as a whole
  std::optional<int> points;
  std::string comment, reason;
};

struct Overrides {
  std::string file;  // what messages call it
  std::vector<Override> all;
};

//   name     what messages call it
//   Throws   UsageError with line, column and what is expected there
Overrides read_overrides(const std::string& bytes, const std::string& name, const Course& course);

//   Throws   UsageError with the line of a student who is none of `students`
void refuse_strangers(const Overrides& overrides, const std::set<std::string>& students);

// {"entries": [{student, exercise, points or null, comment, reason}]}
nlohmann::json json_of(const Overrides& overrides);

}  // namespace lockstep::grader
