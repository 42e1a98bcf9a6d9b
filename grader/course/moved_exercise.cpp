#include "grader/course/moved_exercise.hpp"

#include <system_error>

#include "engine/base/error.hpp"
#include "engine/base/text.hpp"
#include "grader/course/progress.hpp"

namespace lockstep::grader {
namespace fs = std::filesystem;
namespace {

void rename_in_progress(const Places& places, const Exercise& exercise) {
  change_progress(places.progress(), [&](Progress& progress) {
    const auto found = progress.find(exercise.earlier_address());
    if (found == progress.end()) return;
    progress[exercise.address()] = std::move(found->second);
    progress.erase(exercise.earlier_address());
  });
}

}  // namespace

std::vector<std::string> take_over_moved(const Places& places, const Course& course) {
  std::vector<std::string> told;
  for (const Exercise& exercise : course.exercises) {
    if (exercise.moved_from.empty()) continue;
    const fs::path from = places.root / "work" / exercise.earlier_file();
    const fs::path to = places.work(exercise);
    if (!fs::is_regular_file(from)) continue;
    if (fs::exists(to) && !is_pristine(places, exercise)) continue;
    std::error_code failed;
    fs::create_directories(to.parent_path(), failed);
    if (!failed) fs::rename(from, to, failed);
    if (failed) {
      throw UsageError(text(exercise.name, " belongs to lesson ", exercise.lesson.substr(0, 2),
                            " now, and its file could not be moved there: ", failed.message(),
                            ". Type: mkdir -p ", places.shown(to.parent_path()), " && mv ",
                            places.shown(from), " ", places.shown(to)));
    }
    rename_in_progress(places, exercise);
    told.push_back(text(exercise.name, " belongs to lesson ", exercise.lesson.substr(0, 2),
                        " now: ", places.shown(from), " was moved to ", places.shown(to)));
  }
  return told;
}

}  // namespace lockstep::grader
