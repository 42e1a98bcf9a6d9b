// Judges what is left of a plan, a few units at a time, and writes each result into the journal.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "grader/batch/journal.hpp"
#include "grader/batch/plan.hpp"

namespace lockstep::grader {

struct ClassLimits {
  int jobs = 1;
  double submission_s = 300;  // wall time of one file, compiling included
};

// What is told after each unit: how many are done, of how many, and the last one's record.
using Told = std::function<void(std::size_t done, std::size_t of, const nlohmann::json& record)>;

// A unit at which the lab itself failed is tried twice more, alone; then its result says so. One
// that is not over in time is tried once more, alone, lest others were to blame.
void judge_units(const Lab& lab, const Sandbox& sandbox, const std::filesystem::path& area,
                 const std::vector<PlannedUnit>& units, const ClassLimits& limits,
                 const std::function<void(const nlohmann::json& record)>& keep, const Told& told);

}  // namespace lockstep::grader
