// Counting the lines of a room.
#include "tests/house/budgets.hpp"

#include <sstream>

namespace lockstep::house {
namespace {

const std::string list_name = "LOCKSTEP_LINES_MAX in cmake/rooms.cmake";

std::string folder_above(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace

Budgets::Budgets(const std::string& list) {
  std::istringstream in(list);
  for (std::string budget; std::getline(in, budget, '|');) {
    std::istringstream words(budget);
    std::string folder;
    words >> folder >> lines_max_[folder];
  }
}

Complaints Budgets::complaints(const std::vector<Source>& sources) const {
  std::map<std::string, std::size_t> lines;  // by room
  std::map<std::string, std::size_t> unknown;
  for (const Source& source : sources) {
    std::string folder = folder_above(source.path);
    while (!folder.empty() && !lines_max_.contains(folder)) folder = folder_above(folder);
    auto& count = folder.empty() ? unknown[folder_above(source.path)] : lines[folder];
    count += source.lines.size();
  }
  Complaints found;
  for (const auto& [folder, count] : unknown) {
    found.push_back(folder + " has " + std::to_string(count) +
                    " lines and no budget: give its room one in " + list_name);
  }
  for (const auto& [folder, most] : lines_max_) {
    const std::size_t count = lines[folder];
    if (count == 0) {
      found.push_back(folder + " has a budget but no sources: take it out of " + list_name);
    } else if (count > most) {
      found.push_back(folder + " has " + std::to_string(count) + " lines, " +
                      std::to_string(count - most) + " more than its budget of " +
                      std::to_string(most) + ": take lines out, or raise the budget in " +
                      list_name + " in a commit that says what they are worth");
    }
  }
  return found;
}

}  // namespace lockstep::house
