// The files that must be visible to compile and link one file: not all of /usr, where interpreters,
// other compilers and perhaps a course lie.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::grader {

struct Toolchain {
  std::vector<std::filesystem::path> folders, files;  // as they are named, links followed
  std::map<std::filesystem::path, std::filesystem::path> links;  // what each says
};

// The compiler, the assembler, the linkers and nm, with their libraries and headers.
Toolchain toolchain_of(const std::string& compiler);

}  // namespace lockstep::grader
