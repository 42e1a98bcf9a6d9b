#include "grader/course/task.hpp"

#include <algorithm>
#include <sstream>

#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

constexpr const char* heading = "## Hint ";
constexpr const char* cause_heading = "## Hint for ";

bool begins_with(const std::string& line, const std::string& mark) {
  return line.rfind(mark, 0) == 0;
}

// "## Hint for tail_lost, whole_buffer: the end" → those two.
std::vector<std::string> causes_of(const std::string& line) {
  std::string names = line.substr(std::string(cause_heading).size());
  names = names.substr(0, names.find(':'));
  std::replace(names.begin(), names.end(), ',', ' ');
  std::istringstream in(names);
  std::vector<std::string> causes;
  for (std::string cause; in >> cause;) causes.push_back(cause);
  return causes;
}

}  // namespace

const CauseHint* Task::hint_for(const std::string& cause) const {
  for (const CauseHint& hint : for_causes) {
    if (std::find(hint.causes.begin(), hint.causes.end(), cause) != hint.causes.end()) return &hint;
  }
  return nullptr;
}

std::string cause_named(std::string_view verdict) {
  std::string name(verdict);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

Task read_task(const std::filesystem::path& file) {
  Task task;
  std::istringstream in(read_text(file));
  std::string* part = &task.text;
  for (std::string line; std::getline(in, line);) {
    if (begins_with(line, cause_heading)) {
      part = &task.for_causes.emplace_back(CauseHint{causes_of(line), ""}).text;
    } else if (begins_with(line, heading)) {
      part = &task.hints.emplace_back();
    }
    *part += line + "\n";
  }
  return task;
}

}  // namespace lockstep::grader
