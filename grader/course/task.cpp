#include "grader/course/task.hpp"

#include <sstream>

#include "grader/course/text_file.hpp"

namespace lockstep::grader {

Task read_task(const std::filesystem::path& file) {
  Task task;
  std::istringstream in(read_text(file));
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("## Hint ", 0) == 0) task.hints.emplace_back();
    (task.hints.empty() ? task.text : task.hints.back()) += line + "\n";
  }
  return task;
}

}  // namespace lockstep::grader
