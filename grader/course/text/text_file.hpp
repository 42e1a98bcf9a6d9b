// Whole text files, read and written at once.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::grader {

std::string read_text(const std::filesystem::path& file);  // UsageError when it cannot be read
// Makes the folder where it is missing; Error when the file cannot be written.
void write_text(const std::filesystem::path& file, const std::string& content);

}  // namespace lockstep::grader
