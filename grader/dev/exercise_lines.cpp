#include "grader/dev/exercise_lines.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

int lines_in(const fs::path& file) {
  const std::string content = read_text(file);
  return static_cast<int>(std::ranges::count(content, '\n'));
}

}  // namespace

int lines_of(const Places& places, const Exercise& exercise) {
  int lines = 0;
  for (const fs::path& file : {places.stub(exercise), places.task(exercise),
                               places.manifest(exercise), places.solution(exercise)}) {
    if (fs::exists(file)) lines += lines_in(file);
  }
  for (const char* folder : {"grader/parts", "tests/exercises"}) {
    const fs::path own = places.root / folder / exercise.address();
    if (!fs::exists(own)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(own)) {
      if (entry.is_regular_file()) lines += lines_in(entry.path());
    }
  }
  return lines;
}

std::string line_complaint(const std::string& address, int lines, const int* bound) {
  if (bound == nullptr) {
    if (lines <= lines_max) return "";
    return text(address, " has ", lines, " lines in all its files, and an exercise has at most ",
                lines_max,
                ": let its family ask what its exam asks, its mutants say what is wrong");
  }
  const std::string listed = text(address, " has ", lines, " lines; its bound of ", *bound, " in ",
                                  "tests/exercises/long_exercises.txt ");
  if (lines > *bound) return listed + "may only fall";
  if (lines <= lines_max) return listed + "is not needed any more; take it out";
  if (lines <= *bound - lines_slack) return listed + text("can be ", lines);
  return "";
}

std::vector<std::string> line_complaints(const Lab& lab) {
  const fs::path list = lab.places.root / "tests/exercises/long_exercises.txt";
  auto bounds = read_exceptions(read_text(list), lab.places.shown(list));
  std::vector<std::string> complaints;
  for (const Exercise& exercise : lab.course.exercises) {
    if (exercise.kind != Kind::code) continue;
    const auto bound = bounds.extract(exercise.address());
    const auto complaint = line_complaint(exercise.address(), lines_of(lab.places, exercise),
                                          bound.empty() ? nullptr : &bound.mapped());
    if (!complaint.empty()) complaints.push_back(complaint);
  }
  for (const auto& [address, lines] : bounds) {
    complaints.push_back(
        text(lab.places.shown(list), " names ", address, ", which is no exercise"));
  }
  return complaints;
}

}  // namespace lockstep::grader
