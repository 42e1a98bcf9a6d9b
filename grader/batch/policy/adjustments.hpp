// Grades as the judge gave them, after lateness and what the instructor decided by hand.
//
// Each row gets "judged_points" (the judge's), "days_late", "note" (a sentence on what changed the
// points), "comment" and "by_hand"; each student "comment". Points set by hand are not late.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "grader/batch/policy/late.hpp"

namespace lockstep::grader {

// Changes a student's rows in place. `records` are the journal's, and must outlive it: the last
// "late", "overrides" and "hand_in_times" hold (grades.hpp).
class Adjustments {
 public:
  explicit Adjustments(const std::vector<nlohmann::json>& records);
  void adjust(nlohmann::json& student) const;

 private:
  std::optional<LatePolicy> late_;
  std::map<std::string, std::vector<const nlohmann::json*>> overrides_;  // by student
  const nlohmann::json* times_ = nullptr;
};

}  // namespace lockstep::grader
