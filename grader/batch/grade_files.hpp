// The files that a class's grades are written to; docs/grading.md says what each holds.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "grader/batch/grade_request.hpp"

namespace lockstep::grader {

// The folder by its full path; where there is none it is made, for its owner alone.
//   Throws  UsageError when no name is given or it cannot be made
std::filesystem::path output_folder(const std::string& name);

struct Output {
  std::filesystem::path folder;
  std::vector<std::string> formats;  // any of those that --format takes
  Names names = Names::shown;        // hidden: under pseudonyms, and names.csv says whose they are
  Cases cases = Cases::hidden;       // in what platforms show
};

// Each file is replaced as a whole; those of earlier runs stay until then. Files of students under
// names that are no longer written are removed.
void write_grades(const Output& output, const std::vector<nlohmann::json>& records,
                  const nlohmann::json& grades, const Course& course);

}  // namespace lockstep::grader
