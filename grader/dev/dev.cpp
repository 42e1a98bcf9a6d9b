// ./lab dev stubs, course, prove, matrix, impostors, references, predictions, affected: for those
// who change the course.
#include "grader/dev/dev.hpp"

#include <iostream>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/dev/affected.hpp"
#include "grader/dev/course_check.hpp"
#include "grader/dev/exercise_budget.hpp"
#include "grader/dev/impostors.hpp"
#include "grader/dev/new_exercise.hpp"
#include "grader/dev/predict_page.hpp"
#include "grader/dev/prove.hpp"
#include "grader/dev/references.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {
namespace {

Exit write_stubs(const Lab& lab) {
  for (const Exercise& exercise : lab.course.exercises) {
    if (exercise.kind == Kind::quiz) continue;
    const std::string stub = fresh_stub(lab, exercise);
    const auto file = lab.places.stub(exercise);
    if (std::filesystem::exists(file) && read_text(file) == stub) continue;
    write_text(file, stub);
    std::cout << "exercises/" << exercise.file() << "\n";
  }
  return Exit::passed;
}

Exit print_problems(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) std::cout << problem << "\n";
  if (problems.empty()) std::cout << "the course is consistent\n";
  return problems.empty() ? Exit::passed : Exit::failed;
}

// On standard output the labels as ctest's -L takes them, nothing when every test is asked for;
// why, on standard error.
Exit affected(const Lab& lab, const Words& paths) {
  const Affected found = affected_by(paths, include_lines(lab.places.root), lab.course);
  for (const std::string& line : found.why) std::cerr << line << "\n";
  if (found.all) return Exit::passed;
  std::string pattern;
  for (const std::string& label : found.labels) pattern += (pattern.empty() ? "" : "|") + label;
  std::cout << "^(" << pattern << ")$\n";
  return Exit::passed;
}

}  // namespace

Exit dev_command(const Lab& lab, const Words& words) {
  const std::vector<std::string> known{"new",      "stubs",     "course",     "prove",
                                       "matrix",   "impostors", "references", "predictions",
                                       "affected", "costs"};
  const std::string command = words.empty() ? "" : words.front();
  const Words rest(words.empty() ? words.begin() : words.begin() + 1, words.end());
  if (command == "new") return new_command(lab, rest);
  if (command == "stubs") return write_stubs(lab);
  if (command == "course") return print_problems(course_problems(lab));
  if (command == "prove") return prove_command(lab, rest);
  if (command == "matrix") return matrix_command(lab, rest);
  if (command == "impostors") return impostors_command(lab, rest);
  if (command == "references") return references_command(lab, rest);
  if (command == "predictions") return predictions_page_command(lab, rest);
  if (command == "affected") return affected(lab, rest);
  if (command == "costs") return costs_command(lab, rest);
  throw UsageError(
      text("usage: ./lab dev new NN/NAME --family F | stubs | course | prove [NAME…] [--afresh] | "
           "matrix [NAME…] "
           "| matrix --page "
           "FILE | impostors [NAME…] [--seeds N] [--afresh] | references [NAME…] [--seeds N] "
           "[--afresh] [--alternatives] | predictions FOLDER | affected PATH… | costs [--hold]; '",
           command, "' is not one of them", did_you_mean(command, known)));
}

}  // namespace lockstep::grader
