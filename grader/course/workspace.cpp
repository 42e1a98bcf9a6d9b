#include "grader/course/workspace.hpp"

namespace lockstep::grader {
namespace fs = std::filesystem;

std::string Places::shown(const fs::path& path) const {
  const fs::path relative = fs::absolute(path).lexically_normal().lexically_relative(root);
  return relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

std::vector<const Exercise*> copy_missing_stubs(const Places& places, const Course& course) {
  std::vector<const Exercise*> copied;
  for (const Exercise& exercise : course.exercises) {
    const fs::path file = places.work(exercise);
    if (fs::exists(file)) continue;
    fs::create_directories(file.parent_path());
    fs::copy_file(places.stub(exercise), file);
    copied.push_back(&exercise);
  }
  return copied;
}

void reset_work(const Places& places, const Exercise& exercise) {
  const fs::path file = places.work(exercise);
  fs::create_directories(file.parent_path());
  if (fs::exists(file)) fs::rename(file, file.string() + ".bak");
  fs::copy_file(places.stub(exercise), file);
}

}  // namespace lockstep::grader
