// What a run's verdicts depend on besides its submissions: limits, and this build of the lab. The
// journal remembers it, so that results of different settings are never mixed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "grader/batch/class_run.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// Sets what `list` names: "idle=3,case=60,cpu=10,memory=512,submission=300,student=120".
//   Throws  UsageError when a name is unknown or a value no number above 0
void set_limits(const std::string& list, sim::PlayerLimits& player, ClassLimits& whole);

// Their values, however they were written: {"idle_s", "case_s", "cpu_s", "memory_bytes",
// "submission_s", "student_s"}.
nlohmann::json limits_record(const sim::PlayerLimits& player, const ClassLimits& whole);

// A digest of this program, the judges, keys, recipes of the exercises, what players are
// linked with, the headers that they may include, and the compiler's version.
std::string lab_digest(const Lab& lab, const std::vector<const Exercise*>& exercises);

}  // namespace lockstep::grader
