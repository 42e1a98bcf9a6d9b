// Which tests a change can affect, read off the #include lines: what ./lab test --changed runs.
//
// A unit is a header and the source of the same name. It depends on the units it includes; a source
// without a header of its own stands for every unit of its folder that is included. So a unit that
// depends on no changed one is built of the same code as before. Left out: nothing. What is not
// understood means all tests.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "grader/course/manifest.hpp"

namespace lockstep::grader {

// The C++ files of the repository, as their #include "…" lines: path from the root → paths.
using IncludeLines = std::map<std::string, std::vector<std::string>>;
IncludeLines include_lines(const std::filesystem::path& root);

struct Affected {
  bool all = false;
  // ctest's labels: "tests/comm" for a folder of tests, "proof of 06_all_reduce/ring_all_reduce".
  std::set<std::string> labels;
  std::vector<std::string> why;  // one line a changed file
};

// `changed` are paths from the root, as git names them.
Affected affected_by(const std::vector<std::string>& changed, const IncludeLines& files,
                     const Course& course);

}  // namespace lockstep::grader
