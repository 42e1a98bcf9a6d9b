#include "grader/course/workspace.hpp"

#include "engine/base/text.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace fs = std::filesystem;
namespace {

// Also by a folder, or by a link that leads nowhere.
bool is_taken(const fs::path& path) { return fs::exists(fs::symlink_status(path)); }

fs::path free_backup(const fs::path& file) {
  fs::path backup = file.string() + ".bak";
  for (int n = 1; is_taken(backup); ++n) backup = text(file.string(), ".bak.", n);
  return backup;
}

}  // namespace

std::string Places::shown(const fs::path& path) const {
  const fs::path relative = fs::absolute(path).lexically_normal().lexically_relative(root);
  return relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

std::string pristine(const Places& places, const Exercise& exercise) {
  const bool derived = exercise.kind == Kind::quiz && fs::exists(places.solution(exercise));
  return derived ? quiz_for_students(places.solution(exercise)) : read_text(places.stub(exercise));
}

std::string reference_answer(const Places& places, const Exercise& exercise) {
  const fs::path file = places.solution(exercise);
  return exercise.kind == Kind::quiz ? answered_quiz(file) : read_text(file);
}

std::vector<const Exercise*> copy_missing_stubs(const Places& places, const Course& course) {
  std::vector<const Exercise*> copied;
  for (const Exercise& exercise : course.exercises) {
    const fs::path file = places.work(exercise);
    if (fs::exists(file)) continue;
    write_text(file, pristine(places, exercise));
    copied.push_back(&exercise);
  }
  return copied;
}

bool is_pristine(const Places& places, const Exercise& exercise) {
  const fs::path file = places.work(exercise);
  return fs::is_regular_file(file) && read_text(file) == pristine(places, exercise);
}

fs::path reset_work(const Places& places, const Exercise& exercise) {
  if (is_pristine(places, exercise)) return {};
  const fs::path file = places.work(exercise);
  fs::create_directories(file.parent_path());
  fs::path kept;
  if (is_taken(file)) {
    kept = free_backup(file);
    fs::rename(file, kept);
  }
  write_text(file, pristine(places, exercise));
  return kept;
}

}  // namespace lockstep::grader
