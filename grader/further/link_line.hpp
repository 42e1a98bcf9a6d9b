// The command by which the build system links a program, with some parts exchanged: the engine's
// `train` with the student's objects in the places of the references.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/course/manifest.hpp"

namespace lockstep::grader {

// A part and the object that replaces its reference's.
struct Exchange {
  const Exercise* part;
  std::filesystem::path object;
};

// `commands` is what `ninja -t commands PROGRAM` prints; its last line links. Returns the words to
// run in the build folder.
//   Throws  Error when there is no such line
std::vector<std::string> relinked(const std::string& commands,
                                  const std::vector<Exchange>& exchanges,
                                  const std::filesystem::path& output);

// True if the line links the reference of `part`.
bool links_part(const std::string& commands, const Exercise& part);

}  // namespace lockstep::grader
