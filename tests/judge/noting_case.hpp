// What the test of cases of several lives and its player share: a rank that notes lines in a file
// of its own.
#pragma once

#include <string>
#include <vector>

#include "grader/play/served_storage.hpp"

namespace lockstep::grader {

struct NotingCase {
  std::vector<std::string> lines;
};
template <typename Archive>
void fields(Archive& archive, NotingCase& c) {
  archive(c.lines);
}

// What was in the files of all ranks when the rank began, and how many cases its process had played
// before.
struct NotingReport {
  std::vector<std::string> found;
  std::int64_t played_before = 0;
};
template <typename Archive>
void fields(Archive& archive, NotingReport& report) {
  archive(report.found, report.played_before);
}

}  // namespace lockstep::grader
