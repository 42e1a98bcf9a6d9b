// ./lab solution: the reference of an exercise, for those who have earned it or ask for it.
#include <iostream>

#include "engine/base/error.hpp"
#include "grader/course/stub.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

Options solution_options() {
  Options options("./lab solution", "Prints the reference of an exercise, once yours has passed.");
  options.words("NAME", "the exercise")
      .flag("reveal", "print it before yours has passed; work/.progress records this");
  return options;
}

// The file as it is, with what the student was to write standing out.
std::string highlighted(const std::string& reference, Paint paint) {
  std::string out;
  bool theirs = false;
  for (const std::string& line : lines_of(reference)) {
    const bool mark =
        line.find(region_begin) != std::string::npos || line.find(region_end) != std::string::npos;
    if (line.find(region_end) != std::string::npos) theirs = false;
    out += (mark ? yellow(paint, line) : theirs ? line : faint(paint, line)) + "\n";
    if (line.find(region_begin) != std::string::npos) theirs = true;
  }
  return out;
}

void note_revealed(const Lab& lab, const Exercise& exercise) {
  change_progress(lab.places.progress(), [&](Progress& progress) {
    std::int64_t& at = progress[exercise.address()].revealed_at;
    if (at == 0) at = seconds_now();
  });
}

}  // namespace

Exit solution_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(solution_options(), words);
  if (arguments.asks_help()) return print_help(solution_options());
  const Exercise& exercise = one_exercise(lab, arguments);
  if (lab.packed) {
    std::cout << wrapped(
        text("This is the students' edition: it has no references. ./lab hint ", exercise.handle(),
             " helps step by step, and your instructor has the references.\n"),
        lab.columns);
    return Exit::failed;
  }
  const Progress progress = read_progress(lab.places.progress());
  const auto found = progress.find(exercise.address());
  const bool passed = found != progress.end() && found->second.passed;
  if (!passed && !arguments.flag("reveal")) {
    std::cout << wrapped(text(exercise.handle(), " has not passed yet. ./lab hint ",
                              exercise.handle(), " helps step by step; ./lab solution ",
                              exercise.handle(), " --reveal prints the reference anyway\n"),
                         lab.columns);
    return Exit::failed;
  }
  if (!passed) note_revealed(lab, exercise);
  const auto file = lab.places.solution(exercise);
  const std::string reference = reference_answer(lab.places, exercise);
  std::cout << bold(lab.paint, lab.places.shown(file)) << "\n\n"
            << (exercise.kind == Kind::quiz ? reference : highlighted(reference, lab.paint));
  if (!passed) {
    std::cout << wrapped(
        "\nRecorded that you looked. Now close it and write your own version from memory.\n",
        lab.columns);
  } else if (exercise.header.find("collectives/") != std::string::npos) {
    std::cout << "\nTo compare its costs with yours: ./lab compare " << exercise.handle() << "\n";
  }
  return Exit::passed;
}

}  // namespace lockstep::grader
