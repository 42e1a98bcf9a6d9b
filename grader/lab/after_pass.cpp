#include "grader/lab/after_pass.hpp"

#include "engine/base/text.hpp"

namespace lockstep::grader {

std::string command_with(const Exercise& exercise) {
  if (exercise.kind == Kind::quiz) return "";
  if (!exercise.called_by.train.empty()) {
    return "./lab train --with work " + exercise.called_by.train;
  }
  if (!exercise.called_by.shown_by.empty()) return "./lab " + exercise.called_by.shown_by;
  return exercise.native.empty() ? "" : "./lab compare " + exercise.name;
}

std::string after_pass(const Lab& lab, const Exercise& exercise, const Progress& progress) {
  const std::string command = command_with(exercise);
  const Exercise* next = next_exercise(lab, progress, &exercise);
  std::string out;
  const CalledBy& by = exercise.called_by;
  if (!by.unused.empty() && by.shown_by.empty())
    out = text("  train     not with this part: ", by.unused, "\n");
  if (!command.empty())
    out += text(!by.train.empty()      ? "  train     "
                : !by.shown_by.empty() ? "  try       "
                                       : "  compare   ",
                command, "\n");
  if (next == nullptr) return out + "  next      nothing: you have solved the whole course\n";
  const std::string types = next->kind == Kind::quiz ? "./lab quiz " + next->lesson.substr(0, 2)
                                                     : "./lab show " + next->handle();
  const bool new_lesson = next->lesson != exercise.lesson;
  return out + text("  next      ", next->handle(), ", about ", next->minutes, " minutes: ", types,
                    new_lesson ? ", after lessons/" + next->reading + "/README.md" : "", "\n");
}

}  // namespace lockstep::grader
