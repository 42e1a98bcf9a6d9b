// ./lab show, reset and begin: the task of an exercise, and the student's copy of its file.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "engine/base/error.hpp"
#include "grader/course/task.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

Options declared_show() {
  Options options("./lab show", "Shows the task of an exercise, or one of its hints.");
  options
      .words("[NAME]",
             "the exercise (default: the one you edited last; once it has passed, the next)")
      .option("hint", "", "show this hint: 1 the concept, 2 the strategy, 3 the pseudo-code");
  return options;
}

Options declared_reset() {
  Options options("./lab reset", "Restores the original file of an exercise in work/.");
  options.words("NAME", "the exercise; your file is kept as .bak, .bak.1, …")
      .flag("yes", "do not ask (the default without a terminal)");
  return options;
}

void print_task(const Lab& lab, const Exercise& exercise, const Task& task) {
  const bool copied = std::filesystem::exists(lab.places.work(exercise));
  std::cout << reflowed(task.text, lab.columns) << "Your file   work/" << exercise.file()
            << (copied ? "\n" : text(", which ./lab reset ", exercise.handle(), " puts there\n"));
  if (!exercise.header.empty()) std::cout << "Contract    " << exercise.header << "\n";
  if (std::filesystem::exists(lab.places.root / "lessons" / exercise.reading / "README.md")) {
    std::cout << "Lesson      lessons/" << exercise.reading << "/README.md\n";
  }
  std::cout << "Check       ./lab check " << exercise.handle() << "\n"
            << "Hints       ./lab hint " << exercise.handle() << "\n";
}

}  // namespace

const Exercise& one_exercise(const Lab& lab, const Arguments& arguments) {
  if (arguments.words().size() != 1) throw UsageError("name one exercise; ./lab list shows all");
  const std::string& word = arguments.words().front();
  const auto meant = exercises_named(lab.course, word);
  if (meant.size() == 1) return *meant.front();
  std::string names;
  for (const Exercise* exercise : meant) names += (names.empty() ? "" : ", ") + exercise->handle();
  throw UsageError(text(word, " is a lesson; name one of its exercises: ", names));
}

const Exercise& named_or_at_hand(const Lab& lab, const Arguments& arguments) {
  if (!arguments.words().empty()) return one_exercise(lab, arguments);
  const Exercise* exercise = exercise_at_hand(lab, read_progress(lab.places.progress()));
  if (exercise == nullptr) throw UsageError("every exercise is solved; name one: ./lab list");
  return *exercise;
}

Exit show_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(declared_show(), words);
  if (arguments.asks_help()) return print_help(declared_show());
  const Exercise& exercise = named_or_at_hand(lab, arguments);
  const Task task = read_task(lab.places.task(exercise));
  if (!arguments.given("hint")) {
    print_task(lab, exercise, task);
    return Exit::passed;
  }
  const auto rung = static_cast<std::size_t>(arguments.integer("hint", 1));
  if (rung > task.hints.size()) {
    throw UsageError(text(exercise.handle(), " has ", task.hints.size(), " hints, not ", rung));
  }
  std::cout << reflowed(task.hints[rung - 1], lab.columns);
  if (rung < task.hints.size()) {
    std::cout << "\nStill stuck? ./lab hint " << exercise.handle() << "\n";
  }
  return Exit::passed;
}

Exit reset_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(declared_reset(), words);
  if (arguments.asks_help()) return print_help(declared_reset());
  const Exercise& exercise = one_exercise(lab, arguments);
  if (is_pristine(lab.places, exercise)) {
    std::cout << "work/" << exercise.file() << " is already the original; nothing changed\n";
    return Exit::passed;
  }
  const bool ask = !arguments.flag("yes") && ::isatty(STDIN_FILENO) == 1;
  if (ask && std::filesystem::exists(lab.places.work(exercise))) {
    std::cout << "replace work/" << exercise.file() << " with the original? [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    if (answer != "y" && answer != "yes") {
      std::cout << "nothing changed\n";
      return Exit::failed;
    }
  }
  const std::filesystem::path kept = reset_work(lab.places, exercise);
  note_begun(lab, {&exercise});
  std::cout << "work/" << exercise.file() << " is the original again";
  if (!kept.empty()) std::cout << "; the old file is kept as " << lab.places.shown(kept);
  std::cout << "\n";
  return Exit::passed;
}

Exit begin_command(const Lab& lab, const Words& words) {
  Options options("./lab begin",
                  "Copies the files that are missing from work/; never overwrites a file.");
  if (parsed(options, words).asks_help()) return print_help(options);
  const auto copied = copy_missing_stubs(lab.places, lab.course);
  note_begun(lab, copied);
  for (const Lesson& lesson : lab.course.lessons) {
    const auto files = std::ranges::count(copied, lesson.folder, &Exercise::lesson);
    if (files == 0) continue;
    std::cout << "work/" << lesson.folder << ": " << files << (files == 1 ? " file\n" : " files\n");
  }
  std::cout << (copied.empty() ? "work/ has a file for every exercise\n"
                               : "they are yours to edit\n");
  return Exit::passed;
}

}  // namespace lockstep::grader
