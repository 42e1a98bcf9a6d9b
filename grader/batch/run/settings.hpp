// The settings on which a run's verdicts depend, besides its submissions: limits, and this build of
// the lab. The journal remembers it, so that results of different settings are never mixed.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "grader/batch/run/class_run.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// Sets what `list` names: "idle=3,case=60,cpu=10,memory=512,submission=300,student=120".
//   Throws  UsageError when a name is unknown or a value no number above 0
void set_limits(const std::string& list, sim::PlayerLimits& player, ClassLimits& whole);

// Their values, however they were written: {"idle_s", "case_s", "cpu_s", "memory_bytes",
// "submission_s", "student_s"}.
nlohmann::json limits_record(const sim::PlayerLimits& player, const ClassLimits& whole);

void set_limits_from(const nlohmann::json& record, sim::PlayerLimits& player, ClassLimits& whole);

// A digest for each exercise, by address: of this program, the exercise's judge, key and recipe,
// what its players are linked with, the headers that they may include, and the compiler's version.
std::map<std::string, std::string> lab_versions(const Lab& lab,
                                                const std::vector<const Exercise*>& exercises);

}  // namespace lockstep::grader
