// How an exercise stands, from what was noted when it was judged.
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

State state_of(const Lab& lab, const Exercise& exercise, const Progress& progress) {
  const auto found = progress.find(exercise.address());
  const auto file = lab.places.work(exercise);
  if (std::filesystem::exists(file) && !std::filesystem::is_regular_file(file)) {
    return State::unreadable;
  }
  if (found == progress.end() || !std::filesystem::exists(file)) return State::untouched;
  if (content_hash_of(file) != found->second.content_hash) return State::changed;
  return found->second.verdict == "pass" ? State::solved : State::not_yet;
}

const Exercise* next_exercise(const Lab& lab, const Progress& progress) {
  for (const Exercise& exercise : lab.course.exercises) {
    if (state_of(lab, exercise, progress) != State::solved) return &exercise;
  }
  return nullptr;
}

}  // namespace lockstep::grader
