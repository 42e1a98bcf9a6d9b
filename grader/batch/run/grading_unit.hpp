// The unit of grading: one file for one exercise, built and played in the sandbox.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "grader/lab/lab.hpp"
#include "grader/sandbox/sandbox.hpp"

namespace lockstep::grader {

struct GradingUnit {
  const Exercise* exercise = nullptr;
  std::string content;
  std::uint64_t seed = 0;
};

// Judges it. The files it makes lie in `folder`, which is new and is removed by the caller.
//   Returns  {verdict, points, max_points, cause, report: as check --json without its seconds,
//            seconds}; every text is fit to print (unit_report.hpp)
//   Requires  no other thread of this process waits for its children
//   Throws   Error when the lab failed; nothing is known of the student's file then
nlohmann::json judge_unit(const Lab& lab, const Sandbox& sandbox, const GradingUnit& unit,
                          const std::filesystem::path& folder);

}  // namespace lockstep::grader
