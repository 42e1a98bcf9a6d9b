// Judges what is left of a plan, a few units at a time, and writes each result into the journal.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "grader/batch/processes/free_space.hpp"
#include "grader/batch/processes/journal.hpp"
#include "grader/batch/processes/worker_processes.hpp"
#include "grader/batch/run/budget.hpp"
#include "grader/batch/run/plan.hpp"

namespace lockstep::grader {

struct ClassLimits {
  int jobs = 1;
  double submission_s = 300;  // wall time of one file, compiling included
  double student_s = 120;     // processor time of all files of one student (budget.hpp)
  double patience_s = 15;     // for space and memory that are short
};

// Called after each unit with the number of units done, the number of all, and the last one's
// record.
using ProgressReport =
    std::function<void(std::size_t done, std::size_t of, const nlohmann::json& record)>;

// The surroundings of a class run besides its units. A test sets those that it is about.
struct ClassSurroundings {
  std::filesystem::path scratch;  // each unit gets a folder of its own there
  std::function<std::string(const GradingUnit&, const std::filesystem::path& folder)> judge;
  SpaceProbe probe_space;  // empty: there is always enough
  std::function<std::optional<std::string>(const FreeSpace&)> find_short;
  std::function<double()> idle_clock;  // idle seconds of all processors; empty: never idle
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

// Judges all units but those beyond their students' budgets, side by side at first.
//   - What the lab itself failed at is judged again alone, three times in all; then the result says
//     infrastructure, which is never held against a student.
//   - What ran out of time beside others, or used more than `costly_s` of a budget, is judged again
//     alone, and the second result counts. Not so a file that slept: no other load is to blame.
//   - A player that the machine killed is played again alone, too.
//   - A unit for which there is no room waits for it. When that does not help it is infrastructure.
// One unit never ends the run.
//   Throws  what `keep` throws: the run ends, with what was kept
void run_class(const std::vector<PlannedUnit>& units, const ClassLimits& limits,
               const ClassSurroundings& surroundings, Budgets& budgets,
               const std::function<void(const nlohmann::json& record)>& keep,
               const ProgressReport& on_progress);

// The same in the sandbox. Grades are written to `out`, which needs room as well.
void judge_units(const Lab& lab, const Sandbox& sandbox, const std::filesystem::path& area,
                 const std::vector<PlannedUnit>& units, const ClassLimits& limits,
                 const std::function<void(const nlohmann::json& record)>& keep,
                 const ProgressReport& on_progress, Budgets budgets = {},
                 const std::filesystem::path& out = {});

}  // namespace lockstep::grader
