#include "tests/lessons/changelog.hpp"

#include <regex>
#include <set>
#include <sstream>

#include "engine/base/text.hpp"

namespace lockstep::lessons {

std::vector<std::string> changelog_problems(const std::string& changelog,
                                            const grader::Course& course) {
  const std::regex entry("- `([^`]+)` ([0-9]+): .+"), heading("## ([0-9]{4}-[0-9]{2}-[0-9]{2})");
  std::vector<std::string> problems;
  std::set<std::pair<std::string, int>> told;
  std::istringstream lines(changelog);
  std::string day;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, entry)) {
      told.emplace(found.str(1), std::stoi(found.str(2)));
    } else if (std::regex_match(line, found, heading)) {
      if (!day.empty() && found.str(1) >= day) {
        problems.push_back("CHANGELOG.md: " + found.str(1) + " stands below " + day +
                           ": the newest day comes first");
      }
      day = found.str(1);
    }
  }
  for (const grader::Exercise& exercise : course.exercises) {
    for (int version = 2; version <= exercise.version; ++version) {
      if (told.erase({exercise.handle(), version}) > 0) continue;
      problems.push_back(text("CHANGELOG.md: ", exercise.handle(), " has version ",
                              exercise.version, ", but no line says why: - `", exercise.handle(),
                              "` ", version, ": …"));
    }
  }
  for (const auto& [name, version] : told) {
    problems.push_back(text("CHANGELOG.md: `", name, "` ", version,
                            " is no version from 2 on of an exercise in the manifests"));
  }
  return problems;
}

}  // namespace lockstep::lessons
