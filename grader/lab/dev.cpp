// ./lab dev stubs, course, prove: for those who change the course.
#include <iostream>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/text_file.hpp"
#include "grader/lab/course_check.hpp"
#include "grader/lab/lab.hpp"
#include "grader/lab/proof.hpp"

namespace lockstep::grader {
namespace {

Exit write_stubs(const Lab& lab) {
  for (const Exercise& exercise : lab.course.exercises) {
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

Exit prove(const Lab& lab, const Words& names) {
  Exit exit = Exit::passed;
  for (const Exercise& exercise : lab.course.exercises) {
    const bool asked = names.empty() || &exercise_named(lab.course, names.front()) == &exercise;
    if (!asked) continue;
    const Proof proof = prove_exercise(lab, exercise);
    std::cout << proof.summary;
    if (!proof.holds) exit = Exit::failed;
  }
  return exit;
}

}  // namespace

Exit dev_command(const Lab& lab, const Words& words) {
  const std::vector<std::string> known{"stubs", "course", "prove"};
  const std::string command = words.empty() ? "" : words.front();
  const Words rest(words.empty() ? words.begin() : words.begin() + 1, words.end());
  if (command == "stubs") return write_stubs(lab);
  if (command == "course") return print_problems(course_problems(lab));
  if (command == "prove") return prove(lab, rest);
  throw UsageError(text("usage: ./lab dev stubs | course | prove [NAME]; '", command,
                        "' is none of them", did_you_mean(command, known)));
}

}  // namespace lockstep::grader
