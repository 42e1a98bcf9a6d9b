// The secret from which the judge draws every case: nobody who has it need be lucky, so it lies in
// a file that only its owner can read, and never in an argument or the environment. Its SHA-256 can
// be told to the class beforehand, and the file itself afterwards.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::grader {

//   Throws  UsageError when it is missing, too short, or can be read by others
std::string read_secret(const std::filesystem::path& file);

// The secret in `file`; where there is none it is drawn and written.
std::string kept_secret(const std::filesystem::path& file);

}  // namespace lockstep::grader
