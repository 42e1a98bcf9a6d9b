#include "grader/lab/course_check.hpp"

#include <algorithm>
#include <set>

#include "engine/base/error.hpp"
#include "grader/course/quiz.hpp"
#include "grader/course/stub.hpp"
#include "grader/course/task.hpp"
#include "grader/course/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using Problems = std::vector<std::string>;

// Every file below `folder`, relative to it, that is in none of the sets' entries.
void find_stray(const fs::path& folder, const std::set<std::string>& known, const Places& places,
                Problems& problems) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().lexically_relative(folder).string();
    if (!known.contains(name)) {
      problems.push_back(places.shown(entry.path()) + " belongs to no exercise of the manifest");
    }
  }
}

void need(const fs::path& file, const Places& places, Problems& problems) {
  if (!fs::exists(file)) problems.push_back(places.shown(file) + " is missing");
}

void check_task(const Lab& lab, const Exercise& exercise, Problems& problems) {
  const fs::path file = lab.places.task(exercise);
  if (!fs::exists(file)) return;
  const Task task = read_task(file);
  if (task.hints.size() != 3) {
    problems.push_back(text(lab.places.shown(file), " has ", task.hints.size(),
                            " hints; there are three: concept, strategy, pseudo-code"));
  }
  for (std::size_t i = 0; i < task.hints.size(); ++i) {
    const std::string heading = text("## Hint ", i + 1, ": ");
    if (task.hints[i].rfind(heading, 0) != 0) {
      problems.push_back(
          text(lab.places.shown(file), ": hint ", i + 1, " does not begin with '", heading, "'"));
    }
  }
}

void check_code(const Lab& lab, const Exercise& exercise, Problems& problems) {
  const Places& places = lab.places;
  need(places.root / exercise.header, places, problems);
  need(places.root / "grader" / "players" / (exercise.name + ".cpp"), places, problems);
  if (!fs::exists(places.recipe(exercise))) {
    problems.push_back(exercise.name + " has no recipe: add lockstep_player(" + exercise.name +
                       " …) to grader/players/CMakeLists.txt");
  } else if (read_recipe(places.recipe(exercise)).uses != exercise.may_use) {
    problems.push_back("the player of " + exercise.name +
                       " is linked with other parts than its may_use in the manifest");
  }
}

void check_exercise(const Lab& lab, const Exercise& exercise, Problems& problems) {
  const Places& places = lab.places;
  need(places.solution(exercise), places, problems);
  need(places.stub(exercise), places, problems);
  need(places.task(exercise), places, problems);
  need(places.root / "tests" / "exercises" / exercise.address(), places, problems);
  check_task(lab, exercise, problems);
  if (exercise.kind == Kind::code) {
    check_code(lab, exercise, problems);
  } else {
    need(places.quiz_key(exercise), places, problems);
  }
  if (!fs::exists(places.solution(exercise)) || !fs::exists(places.stub(exercise))) return;
  if (read_text(places.stub(exercise)) != fresh_stub(lab, exercise)) {
    problems.push_back(places.shown(places.stub(exercise)) +
                       " is not what its reference makes: ./lab dev stubs");
  }
}

}  // namespace

std::string fresh_stub(const Lab& lab, const Exercise& exercise) {
  const std::string reference = read_text(lab.places.solution(exercise));
  return exercise.kind == Kind::quiz ? blank_quiz(reference) : stub_of(reference, exercise.name);
}

std::vector<std::string> course_problems(const Lab& lab) {
  Problems problems;
  std::set<std::string> stubs{"course.toml", "README.md"};
  std::set<std::string> solutions{"CMakeLists.txt", "README.md"}, proofs;
  for (const Exercise& exercise : lab.course.exercises) {
    check_exercise(lab, exercise, problems);
    stubs.insert({exercise.file(), exercise.address() + ".md"});
    solutions.insert({exercise.file(), exercise.address() + "_key.toml"});
    proofs.insert(exercise.address());
  }
  find_stray(lab.places.root / "exercises", stubs, lab.places, problems);
  find_stray(lab.places.root / "solutions", solutions, lab.places, problems);
  const fs::path tests = lab.places.root / "tests" / "exercises";
  for (const auto& lesson : fs::directory_iterator(tests)) {
    if (!lesson.is_directory()) continue;
    for (const auto& part : fs::directory_iterator(lesson.path())) {
      if (!proofs.contains(part.path().lexically_relative(tests).string())) {
        problems.push_back(lab.places.shown(part.path()) + " proves no exercise of the manifest");
      }
    }
  }
  for (const Lesson& lesson : lab.course.lessons) {
    const fs::path text = lab.places.root / "lessons" / lesson.folder / "README.md";
    if (!fs::exists(text)) problems.push_back(lab.places.shown(text) + " is missing");
  }
  return problems;
}

}  // namespace lockstep::grader
