// The plan of a grading run: each different file of each exercise is judged once, whoever handed it
// in.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "grader/batch/hand_ins/submission.hpp"
#include "grader/batch/run/grading_unit.hpp"

namespace lockstep::grader {

// The journal's record of who handed in what (grades.hpp).
//   columns   the roster's others, whose cells the submissions have
nlohmann::json plan_record(const std::vector<const Exercise*>& exercises,
                           const std::vector<Submission>& submissions,
                           const std::vector<std::string>& columns = {});

// The plan of some students, and the others as an earlier plan has them.
nlohmann::json with_others(nlohmann::json plan, const nlohmann::json& before,
                           const std::set<std::string>& only, const Roster& roster);

struct PlannedUnit {
  GradingUnit unit;
  std::string sha256;
};

// The units that the journal's records do not hold yet. What the lab itself failed at is judged
// again. The cases of a file are drawn from the secret, the exercise and the file's own SHA-256:
// the same file meets the same cases, and a changed file meets others (decision 0056).
std::vector<PlannedUnit> units_left(const std::vector<const Exercise*>& exercises,
                                    const std::vector<Submission>& submissions,
                                    const std::vector<nlohmann::json>& records,
                                    const std::string& secret);

}  // namespace lockstep::grader
