// The files that a class's grades are written to; docs/grading.md says what each holds.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lockstep::grader {

// The folder by its full path; where there is none it is made, for its owner alone.
//   Throws  UsageError when no name is given or it cannot be made
std::filesystem::path output_folder(const std::string& name);

// Each file is replaced as a whole; those of earlier runs stay until then.
//   formats   any of "json", "csv"
void write_grades(const std::filesystem::path& out, const std::vector<nlohmann::json>& records,
                  const nlohmann::json& grades, const std::vector<std::string>& formats);

}  // namespace lockstep::grader
