// ./lab dev new: what it makes is read as an exercise and compiles.
#include <map>
#include <set>

#include "grader/course/compile/command.hpp"
#include "grader/course/manifest.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

namespace fs = std::filesystem;

// A repository with lessons and without exercises of its own.
struct EmptyCourse {
  EmptyCourse() {
    fs::create_directories(root() / "grader");
    fs::create_directory_symlink(fs::path(LOCKSTEP_ROOT) / "grader" / "templates",
                                 root() / "grader" / "templates");
    for (const char* room : {"collectives", "plan", "comm", "parallel/data_parallel"}) {
      fs::create_directories(root() / "engine" / room);
    }
    write_text(root() / "exercises" / "course.toml",
               "[[lesson]]\nfolder = \"06_all_reduce\"\ntitle = \"All-reduce\"\n");
  }
  const fs::path& root() const { return scratch.path(); }
  CommandResult make(const std::string& address, const std::string& family) const {
    return run_command(
        {LOCKSTEP_TOOL, "--root", root().string(), "dev", "new", address, "--family", family},
        root(), lockstep::test::patient);
  }
  Course course() const { return read_course(root() / "exercises" / "course.toml"); }
  test::Scratch scratch;
};

// Contract, reference, stub, adapter and exam of these exercises, as the compiler would see them.
// They are one unit, as those of a lesson are, so that the headers are read once.
CommandResult compiled(const fs::path& root, const std::vector<std::string>& names) {
  std::string unit, adapters, stubs;
  for (const std::string& name : names) {
    const std::string part = "grader/parts/06_all_reduce/" + name;
    unit += "#include \"solutions/06_all_reduce/" + name + ".cpp\"\n";
    unit += "#include \"" + part + "/exam.cpp\"\n";
    adapters +=
        "#define play play_" + name + "\n#include \"" + part + "/player.cpp\"\n#undef play\n";
    stubs += "#include \"exercises/06_all_reduce/" + name + ".cpp\"\n";
  }
  write_text(root / "unit.cpp", unit + adapters);
  write_text(root / "stubs.cpp", stubs);
  return run_command({LOCKSTEP_CXX, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                      "-I", root.string(), "-I", LOCKSTEP_ROOT, "unit.cpp", "stubs.cpp"},
                     root, lockstep::test::patient);
}

}  // namespace

TEST_CASE("dev new: an exercise of each family is read by the manifest and compiles") {
  const EmptyCourse tree;
  int place = 0;
  std::vector<std::string> names;
  for (const std::string family : {"collective", "function", "ranks", "services"}) {
    CAPTURE(family);
    const std::string name = names.emplace_back("new_" + family);
    const CommandResult made = tree.make("06/" + name, family);
    REQUIRE(made.exit_code == 0);
    const Course course = tree.course();
    const Exercise& exercise = exercise_named(course, name);
    CHECK(exercise.family == family);
    CHECK(exercise.place > std::exchange(place, exercise.place));
    CHECK(fs::exists(tree.root() / exercise.header));
    for (const char* file : {"mutants.toml", "contract.toml"}) {
      CHECK(fs::exists(tree.root() / "tests/exercises" / exercise.address() / file));
    }
  }
  const CommandResult built = compiled(tree.root(), names);
  CHECK(built.output == "");
  CHECK(built.exit_code == 0);
}

TEST_CASE("dev new: a name that is taken or no name, a family or lesson that is none") {
  const EmptyCourse tree;
  const auto refuses = [&](const std::string& address, const std::string& family,
                           const std::string& says) {
    const CommandResult result = tree.make(address, family);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, test::contains(says));
  };
  refuses("06/ring", "colective", "there is no family 'colective'; did you mean collective?");
  refuses("07/ring", "collective", "there is no lesson '07'");
  refuses("06/Ring", "collective", "'Ring' is not a valid name");
  refuses("ring", "collective", "./lab dev new 06_all_reduce/NAME");
  CHECK(tree.course().exercises.empty());
  REQUIRE(tree.make("06_all_reduce/ring", "collective").exit_code == 0);
  refuses("06/ring", "function", "06_all_reduce/ring already has this name");
  write_text(tree.root() / "solutions/06_all_reduce/tree.cpp", "mine\n");
  refuses("06/tree", "collective", "solutions/06_all_reduce/tree.cpp already exists");
  CHECK(read_text(tree.root() / "solutions/06_all_reduce/tree.cpp") == "mine\n");
  CHECK_FALSE(fs::exists(tree.root() / "exercises/06_all_reduce/tree.toml"));
}
