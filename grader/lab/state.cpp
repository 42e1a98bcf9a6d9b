// How an exercise stands, from what was noted when it was judged.
#include <algorithm>

#include "engine/base/error.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

std::size_t place_on_path(const Course& course, const Exercise* exercise) {
  const auto index = static_cast<std::size_t>(exercise - course.exercises.data());
  const auto at = std::ranges::find(course.path, index);
  return static_cast<std::size_t>(at - course.path.begin());
}

// The exercise that was edited last, of those that are no longer as they were handed out.
const Exercise* edited_last(const Lab& lab) {
  const Exercise* newest = nullptr;
  fs::file_time_type newest_time;
  for (const Exercise& exercise : lab.course.exercises) {
    std::error_code absent;
    const auto time = fs::last_write_time(lab.places.work(exercise), absent);
    if (absent || !fs::is_regular_file(lab.places.work(exercise))) continue;
    if ((newest != nullptr && time <= newest_time) || is_pristine(lab.places, exercise)) continue;
    newest = &exercise;
    newest_time = time;
  }
  return newest;
}

}  // namespace

State state_of(const Lab& lab, const Exercise& exercise, const Progress& progress) {
  const auto file = lab.places.work(exercise);
  if (fs::exists(file) && !fs::is_regular_file(file)) return State::unreadable;
  const auto found = progress.find(exercise.address());
  if (found == progress.end() || !fs::exists(file)) return State::untouched;
  const Standing& standing = found->second;
  const std::uint64_t content = content_hash_of(file);
  const std::uint64_t stub = content_hash(pristine(lab.places, exercise));
  if (!standing.last) {
    const bool old = content == standing.begun_from && content != stub;
    return old ? State::updated : State::untouched;
  }
  if (standing.passed && standing.passed->content_hash == content) {
    return standing.passed->stub_hash == stub ? State::solved : State::updated;
  }
  if (standing.last->stub_hash != stub) return State::updated;
  return standing.last->content_hash == content ? State::not_yet : State::changed;
}

namespace {

// True if everything that an exercise comes after is solved.
bool can_begin(const Lab& lab, const Exercise& exercise, const Progress& progress) {
  return std::ranges::all_of(exercise.after, [&](const std::string& before) {
    return state_of(lab, exercise_named(lab.course, before), progress) == State::solved;
  });
}

}  // namespace

const Exercise* next_exercise(const Lab& lab, const Progress& progress, const Exercise* after) {
  const auto& path = lab.course.path;
  const std::size_t first = after == nullptr ? 0 : place_on_path(lab.course, after) + 1;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Exercise& exercise = lab.course.exercises[path[(first + i) % path.size()]];
    if (state_of(lab, exercise, progress) == State::solved) continue;
    if (can_begin(lab, exercise, progress)) return &exercise;
  }
  return nullptr;
}

const Exercise* exercise_at_hand(const Lab& lab, const Progress& progress) {
  const Exercise* edited = edited_last(lab);
  const bool open = edited != nullptr && state_of(lab, *edited, progress) != State::solved;
  return open ? edited : next_exercise(lab, progress, edited);
}

void note_begun(const Lab& lab, const std::vector<const Exercise*>& exercises) {
  if (exercises.empty()) return;
  change_progress(lab.places.progress(), [&](Progress& progress) {
    for (const Exercise* exercise : exercises) {
      Standing& standing = progress[exercise->address()];
      standing.begun_from = content_hash(pristine(lab.places, *exercise));
      standing.begun_at = seconds_now();
    }
  });
}

void ensure_file(const Lab& lab, const Exercise& exercise) {
  const auto file = lab.places.work(exercise);
  if (std::filesystem::is_regular_file(file)) return;
  if (std::filesystem::exists(file)) {
    throw UsageError(lab.places.shown(file) + " is not a file: ./lab reset " + exercise.handle() +
                     " moves it aside and restores the original");
  }
  reset_work(lab.places, exercise);
  note_begun(lab, {&exercise});
}

}  // namespace lockstep::grader
