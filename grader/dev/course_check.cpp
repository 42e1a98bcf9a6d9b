#include "grader/dev/course_check.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/proofs/mutants.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/stub.hpp"
#include "grader/course/task.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/dev/contract_rows.hpp"
#include "grader/dev/exercise_lines.hpp"
#include "grader/dev/proof.hpp"
#include "grader/judge/verdict.hpp"

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
      problems.push_back(places.shown(entry.path()) +
                         " does not belong to any exercise in the manifests");
    }
  }
}

// Every folder NN_lesson/part below `folder` that is no exercise's.
void find_stray_parts(const fs::path& folder, const std::set<std::string>& known,
                      const Places& places, Problems& problems) {
  for (const auto& lesson : fs::directory_iterator(folder)) {
    if (!lesson.is_directory()) continue;
    for (const auto& part : fs::directory_iterator(lesson.path())) {
      if (known.contains(part.path().lexically_relative(folder).string())) continue;
      problems.push_back(places.shown(part.path()) +
                         " does not belong to any exercise in the manifests");
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
                            " hints; it needs three: concept, strategy, pseudo-code"));
  }
  for (std::size_t i = 0; i < task.hints.size(); ++i) {
    const std::string heading = text("## Hint ", i + 1, ": ");
    if (task.hints[i].rfind(heading, 0) != 0) {
      problems.push_back(
          text(lab.places.shown(file), ": hint ", i + 1, " does not begin with '", heading, "'"));
    }
  }
}

// Everything that may be the name of a cause: each string that the judge's sources quote.
std::set<std::string> quoted_names(const fs::path& root) {
  std::set<std::string> names;
  for (const char* room : {"exam", "parts", "judge", "lab", "course"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / "grader" / room)) {
      const std::string source = entry.is_regular_file() ? read_text(entry.path()) : "";
      for (std::size_t at = source.find('"'); at != std::string::npos;) {
        const std::size_t end = source.find('"', at + 1);
        if (end == std::string::npos) break;
        names.insert(source.substr(at + 1, end - at - 1));
        at = end;  // what stands between two strings is taken for one as well, and harms nobody
      }
    }
  }
  for (int i = 0; i <= static_cast<int>(Verdict::infrastructure); ++i) {
    names.insert(cause_named(name_of(static_cast<Verdict>(i))));
  }
  return names;
}

// Also of two quoted parts: "too_many_" and "messages".
bool is_cause(const std::string& name, const std::set<std::string>& quoted) {
  if (quoted.contains(name)) return true;
  for (std::size_t at = name.find('_'); at != std::string::npos; at = name.find('_', at + 1)) {
    if (quoted.contains(name.substr(0, at + 1)) && quoted.contains(name.substr(at + 1)))
      return true;
  }
  return false;
}

// Those of one exercise: its judge may name its mutants besides.
std::set<std::string> causes_of(const Lab& lab, const Exercise& exercise,
                                std::set<std::string> causes) {
  if (!exercise.mistakes) return causes;
  const fs::path mutants =
      lab.places.root / "tests" / "exercises" / exercise.address() / "mutants.toml";
  for (const Mutant& mutant : read_mutants(mutants).mutants) {
    if (!mutant.likely.empty()) causes.insert(mutant.name);
  }
  return causes;
}

// A hint for a cause that no check can give would never be shown.
void check_causes(const Lab& lab, const fs::path& file, const std::set<std::string>& causes,
                  Problems& problems) {
  if (!fs::exists(file)) return;
  for (const CauseHint& hint : read_task(file).for_causes) {
    for (const std::string& cause : hint.causes) {
      if (is_cause(cause, causes)) continue;
      problems.push_back(text(lab.places.shown(file), " has a hint for '", cause,
                              "', which is not a cause of any check",
                              did_you_mean(cause, Problems(causes.begin(), causes.end()))));
    }
  }
}

void check_code(const Lab& lab, const Exercise& exercise, Problems& problems) {
  const Places& places = lab.places;
  need(places.root / exercise.header, places, problems);
  for (const char* file : {"exam.cpp", "player.cpp"}) {
    need(places.root / "grader" / "parts" / exercise.address() / file, places, problems);
  }
  if (!fs::exists(places.recipe(exercise))) {
    problems.push_back(exercise.name + " has no recipe: configure again (./lab start)");
  } else if (read_recipe(places.recipe(exercise)).uses != exercise.may_use) {
    problems.push_back("the player of " + exercise.name +
                       " is linked with parts that differ from its may_use in the manifest");
  }
}

void check_contract(const Lab& lab, const Exercise& exercise, Problems& problems) {
  if (!fs::exists(lab.places.root / exercise.header)) return;
  try {
    const auto holes = holes_of_contract(lab, exercise);
    problems.insert(problems.end(), holes.begin(), holes.end());
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
}

void check_quiz(const fs::path& file, Problems& problems) {
  if (!fs::exists(file)) return;
  try {
    quiz_rules(file);
    quiz_for_students(file);
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
}

void check_exercise(const Lab& lab, const Exercise& exercise, Problems& problems) {
  const Places& places = lab.places;
  need(places.solution(exercise), places, problems);
  need(places.task(exercise), places, problems);
  check_task(lab, exercise, problems);
  if (exercise.kind == Kind::quiz) return check_quiz(places.solution(exercise), problems);
  need(places.stub(exercise), places, problems);
  need(places.root / "tests" / "exercises" / exercise.address(), places, problems);
  check_code(lab, exercise, problems);
  check_contract(lab, exercise, problems);
  if (!fs::exists(places.solution(exercise)) || !fs::exists(places.stub(exercise))) return;
  if (read_text(places.stub(exercise)) != fresh_stub(lab, exercise)) {
    problems.push_back(places.shown(places.stub(exercise)) +
                       " differs from the stub of its reference: ./lab dev stubs");
  }
}

}  // namespace

std::string fresh_stub(const Lab& lab, const Exercise& exercise) {
  return stub_of(read_text(lab.places.solution(exercise)), exercise.name);
}

std::vector<std::string> course_problems(const Lab& lab) {
  Problems problems;
  std::set<std::string> stubs{"course.toml", "common_hints.md", "README.md"};
  std::set<std::string> solutions{"CMakeLists.txt", "README.md"}, proofs, exams;
  const auto causes = quoted_names(lab.places.root);
  check_causes(lab, lab.places.common_hints(), causes, problems);
  for (const Exercise& exercise : lab.course.exercises) {
    check_exercise(lab, exercise, problems);
    check_causes(lab, lab.places.task(exercise), causes_of(lab, exercise, causes), problems);
    stubs.insert(exercise.address() + ".md");
    solutions.insert(exercise.file());
    if (exercise.kind == Kind::code) {
      stubs.insert({exercise.file(), exercise.address() + ".toml"});
      proofs.insert(exercise.address());
      exams.insert(exercise.address());
    }
    need(lab.places.root / "lessons" / exercise.reading / "README.md", lab.places, problems);
  }
  find_stray(lab.places.root / "exercises", stubs, lab.places, problems);
  find_stray(lab.places.root / "solutions", solutions, lab.places, problems);
  find_stray_parts(lab.places.root / "tests" / "exercises", proofs, lab.places, problems);
  find_stray_parts(lab.places.root / "grader" / "parts", exams, lab.places, problems);
  const auto too_long = line_complaints(lab);
  problems.insert(problems.end(), too_long.begin(), too_long.end());
  for (const Lesson& lesson : lab.course.lessons) {
    const fs::path text = lab.places.root / "lessons" / lesson.folder / "README.md";
    if (!fs::exists(text)) problems.push_back(lab.places.shown(text) + " is missing");
  }
  return problems;
}

}  // namespace lockstep::grader
