// Final grades, as a pure function of the journal: whoever has it can make them again.
//
// Records of the journal, one JSON object each:
//   {"record":"settings", "seed_sha256", "limits", "lab"}      what must be the same to go on
//   {"record":"roster", "columns", "students", "notes"}        the class's list (roster.hpp) and
//     "student_from"                                           how hand-ins are named
//   {"record":"plan", "exercises":[{exercise, points}], "columns", "students":[{student, on_roster,
//     "about":[a cell a column], "cause", "reason",
//     "answers":{address: {"sha256"} | {"cause","reason"} | {"missing": the reason}}}]}
//   {"record":"result", "exercise", "sha256", "verdict", "points", "max_points", "cause",
//     "report", "seconds", "charge_s", "attempts"}             of one file's content
//   {"record":"versions"}, {"record":"regrade"}                what ends results
//   (current_results.hpp)
//   {"record":"late", …late.hpp, "from"}                       what late hand-ins lose
//   {"record":"hand_in_times", "from",                         when each file was handed in, in
//     "times":{student: {address: [seconds, sha256]}}}         seconds since 1970
//   {"record":"overrides", …overrides.hpp}                     what a person decided
// Of each kind the last holds; results of the same content are one result, whoever handed it in. A
// file whose student has used up the budget of the settings' limits (budget.hpp) is `time`, cause
// student_budget, whether it was judged or not.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "grader/batch/run/current_results.hpp"

namespace lockstep::grader {

// {"seed_sha256", "exercises", "columns", "students":[{student, points, max_points, on_roster,
// about:{column: cell}, reason, comment, rows:[{exercise, verdict, points, max_points, cause,
// reason, and what adjustments.hpp adds}]}]}: in the order of names and of the course. A reason
// says why nothing was graded, and what mends it.
nlohmann::json grades_of(const std::vector<nlohmann::json>& records);

// A line each student and exercise: student,exercise,verdict,points,max_points,cause,reason,
// judged_points,note,comment.
std::string grades_csv(const nlohmann::json& grades);
// A line each student: student,points,max_points,graded,reason and the roster's other columns.
std::string totals_csv(const nlohmann::json& grades);

// The documents that students may read, each its own: the reports of all that was judged. What the
// journal says is looked up once for the whole class, so a class takes time in proportion to its
// size. `records` must outlive it.
class StudentReports {
 public:
  explicit StudentReports(const std::vector<nlohmann::json>& records);
  nlohmann::json of(const nlohmann::json& student) const;

 private:
  CurrentResults results_;
  std::map<std::string, const nlohmann::json*> planned_;  // by student
};

}  // namespace lockstep::grader
