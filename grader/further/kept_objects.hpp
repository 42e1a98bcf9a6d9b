// Objects of students' files with the engine's optimisation, kept by what is in the file: what was
// compiled once is used again by every program that is linked with it, until the file, a header
// that it reads, the compiler or its flags are others. What is missing is compiled side by side.
//
// They are in students/objects: <part>-<key>.o, where the key is of the source and of the command,
// and beside it <part>-<key>.read, the headers with their checksums. The object of a player
// (student_build.hpp) is another one: it is compiled to be there soon, not to be fast.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// A part, and the file that is linked instead of its reference.
struct Replacement {
  const Exercise* part;
  std::filesystem::path source;
};

// The objects of these files, in their order. An object is its own. Says on standard error which
// files are compiled.
//   Throws  UsageError when a file does not compile, with the compiler's words
std::vector<std::filesystem::path> kept_objects(const Lab& lab,
                                                const std::vector<Replacement>& parts);

}  // namespace lockstep::grader
