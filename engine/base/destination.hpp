// Destinations that a command line names. They are tried before the work begins: a run of hours
// must not end with "no such folder".
#pragma once

#include <filesystem>
#include <string>

namespace lockstep {

// The place that links lead to, if anything is there or not; a link if they lead in a circle.
std::filesystem::path end_of_links(std::filesystem::path path);

// A file that is going to be written: "--export" and "run/weights.safetensors". Its folder is there
// and can be written to; what has the name already, if anything, is a file that can be written.
// A link is judged by what it leads to. Leaves everything as it was.
//   Throws  UsageError that names the option and says what is in the way
void check_destination(const std::string& option, const std::filesystem::path& file);

// A folder that is going to be made, with those above it, or written into.
//   Throws  UsageError likewise
void check_folder_destination(const std::string& option, const std::filesystem::path& folder);

}  // namespace lockstep
