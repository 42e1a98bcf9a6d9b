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

// Each file is replaced as a whole; those of earlier runs stay until then. Reports under names that
// are no longer written are removed.
//   formats   any of "json", "csv"
//   names     hidden: under pseudonyms, and names.csv says whose they are
void write_grades(const std::filesystem::path& out, const std::vector<nlohmann::json>& records,
                  const nlohmann::json& grades, const std::vector<std::string>& formats,
                  Names names = Names::shown);

}  // namespace lockstep::grader
