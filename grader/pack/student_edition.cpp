#include "grader/pack/student_edition.hpp"

#include <algorithm>
#include <regex>

#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/proofs/broken.hpp"
#include "grader/course/quiz/hashes.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/pack/built_files.hpp"
#include "grader/pack/edition_readme.hpp"
#include "grader/pack/leaks.hpp"
#include "grader/pack/listed_files.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// Those of the engine that students start, and those behind ./lab.
const std::vector<std::string> programs{"lab-tool", "lab-further", "lockstep-run", "train",
                                        "generate", "sim",         "smoke"};
// Those of them that can be linked with other parts.
const std::vector<std::string> linked{"train", "sim", "smoke"};
// The trainer with every way to train, which is `train` there: nothing is built when it is asked
// for.
const std::string trainer = "train-all";
std::string built_as(const std::string& name) { return name == "train" ? trainer : name; }
// The targets with which players of every kind are linked: no programs.
const std::set<std::string> of_players{"players", "player-shared", "player-sanitized"};

std::string list_of_files(const Lab& lab) {
  return read_text(lab.places.root / "grader" / "pack" / "student.list");
}

// The small programs that lessons run by their names. Tests are none of a student's.
std::set<std::string> programs_of_lessons(const Lab& lab) {
  std::set<std::string> names;
  const std::regex program("build/release/bin/([A-Za-z][\\w-]*)");
  for (const Lesson& lesson : lab.course.lessons) {
    const fs::path page = lab.places.lesson(lesson) / "README.md";
    if (!fs::exists(page)) continue;
    const std::string words = read_text(page);
    for (std::sregex_iterator at(words.begin(), words.end(), program), end; at != end; ++at) {
      if (!(*at)[1].str().starts_with("test_")) names.insert((*at)[1]);
    }
  }
  return names;
}

std::set<std::string> myths(const Lab& lab) {
  std::set<std::string> names;
  for (const Lesson& lesson : lab.course.lessons) {
    const fs::path folder = lab.places.lesson(lesson) / "myths";
    if (!fs::exists(folder)) continue;
    for (const auto& file : fs::directory_iterator(folder)) {
      if (file.path().extension() == ".cpp") names.insert("myth-" + file.path().stem().string());
    }
  }
  return names;
}

std::set<std::string> judges(const Lab& lab) {
  std::set<std::string> names;
  for (const Exercise& exercise : lab.course.exercises) {
    if (exercise.kind == Kind::code) names.insert(lab.places.judge(exercise).filename());
  }
  return names;
}

std::string expanded_by_shell(const std::string& words) {
  return ran({"sh", "-euc", ". /etc/os-release; printf %s \"" + words + "\""}, "/");
}

std::string compiler_here(const Lab& lab) {
  const auto code = std::ranges::find(lab.course.exercises, Kind::code, &Exercise::kind);
  const std::string compiler = read_recipe(lab.places.recipe(*code)).compiler;
  return expanded_by_shell("$(" + compiler + " -dumpfullversion) $(" + compiler + " -dumpmachine)");
}

}  // namespace

std::string system_of_edition() { return expanded_by_shell("$ID${VERSION_ID:-}-$(uname -m)"); }

std::set<std::string> targets_of_edition(const Lab& lab) {
  std::set<std::string> targets = of_players;
  targets.insert(programs.begin(), programs.end());
  targets.merge(programs_of_lessons(lab));
  targets.merge(myths(lab));
  targets.merge(judges(lab));
  targets.insert(trainer);
  return targets;
}

void write_student_edition(const Lab& lab, const fs::path& folder, int rounds) {
  for (const fs::path& file : listed_files(lab.places.root, list_of_files(lab))) {
    fs::create_directories((folder / file).parent_path());
    fs::copy_file(lab.places.root / file, folder / file);
  }
  BuiltFiles built(lab, folder);
  for (const std::string& name : targets_of_edition(lab)) {
    if (!of_players.contains(name) && name != trainer) built.program(built_as(name), name);
  }
  for (const std::string& name : linked) built.links(built_as(name), name);
  for (const Exercise& exercise : lab.course.exercises) {
    if (exercise.kind == Kind::code) {
      built.recipe(exercise);
      if (exercise.mistakes) built.mistakes(exercise);
    } else {
      const Places there{folder, folder / "build" / "release"};
      write_text(there.stub(exercise), pristine(lab.places, exercise));
      write_text(there.hashed_key(exercise), hashed_key(lab.places.quiz_key(exercise), rounds));
    }
  }
  for (const Broken& broken : broken_parts(lab.places.root, lab.course)) {
    if (!broken.source.empty()) built.broken_object(*broken.part, broken.source);
  }
  const std::string digest = built.finish();
  write_text(folder / "edition",
             text("# The students' edition of Lockstep. It works on this system, with this "
                  "compiler:\nsystem ",
                  expanded_by_shell("$ID ${VERSION_ID:-}"), "\ncompiler ", compiler_here(lab),
                  "\ndigest ", digest, "\n"));
  const auto refused = refused_commands(read_text(lab.places.root / "setup" / "edition.sh"));
  const auto has = [&](const std::string& file) {
    return file == "work/" || fs::exists(folder / file);  // work/ comes with the first command
  };
  write_text(folder / "README.md",
             readme_of_edition(read_text(lab.places.root / "README.md"), refused, has));
  refuse_leaks(Shingles(lab.places.root), folder);
}

}  // namespace lockstep::grader
