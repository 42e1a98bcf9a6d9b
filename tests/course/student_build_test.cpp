// The way from a file to a player, with a toy part: a main program that prints what it returns.
#include "grader/course/compile/student_build.hpp"

#include <unistd.h>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

// A tree with one part `toy`, whose adapter is compiled and whose recipe is written.
struct Toy {
  Toy() {
    exercise.name = "toy";
    exercise.lesson = "06_x";
    exercise.header = "toy.hpp";
    exercise.symbols = {"lockstep::toy(int)"};
    places = {scratch.path(), scratch.path() / "build"};
    write_text(scratch.path() / "main.cpp",
               "#include <cstdio>\nnamespace lockstep { int toy(int); }\n"
               "int main() { std::printf(\"%d\", lockstep::toy(20)); }\n");
    const auto object = (scratch.path() / "main.o").string();
    const auto made =
        run_command({LOCKSTEP_CXX, "-c", "main.cpp", "-o", object}, scratch.path(), test::patient);
    REQUIRE(made.exit_code == 0);
    write_text(places.recipe(exercise),
               std::string("compiler ") + LOCKSTEP_CXX +
                   "\ncompile_flag -std=c++20\ncompile_flag -Wall\nobject " + object +
                   "\nlibrary \n");
  }
  StudentBuild build(const std::string& source) const {
    write_text(places.work(exercise), source);
    return build_student(places, exercise, places.work(exercise), Paint::plain);
  }
  test::Scratch scratch;
  Exercise exercise;
  Places places;
};

const std::string right = "namespace lockstep { int toy(int x) { return x + 22; } }\n";

}  // namespace

TEST_CASE("a student's file: becomes a player, and is not built again when nothing changed") {
  const Toy toy;
  const StudentBuild first = toy.build(right);
  REQUIRE(first.cause == "");
  CHECK_FALSE(first.cached);
  CHECK(run_command({first.player.string()}, toy.scratch.path(), {}).output == "42");

  const StudentBuild again = toy.build(right);
  CHECK(again.cached);
  CHECK(again.player == first.player);
  CHECK_FALSE(toy.build(right + "// changed\n").cached);
}

TEST_CASE("a student's file: what a build left that was ended long ago is tidied up by the next") {
  const Toy toy;
  const auto folder = toy.places.students() / "toy";
  for (const char* name : {"old.o", "old.o.player", "now.o"}) write_text(folder / name, "part");
  for (const char* name : {"old.o", "old.o.player"}) {
    std::filesystem::last_write_time(
        folder / name, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
  REQUIRE(toy.build(right).cause == "");
  CHECK_FALSE(std::filesystem::exists(folder / "old.o"));
  CHECK_FALSE(std::filesystem::exists(folder / "old.o.player"));
  CHECK(std::filesystem::exists(folder / "now.o"));
}

TEST_CASE("a student's file: of many players the one that was used last stays, however old it is") {
  const Toy toy;
  const auto folder = toy.places.students() / "toy";
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto player = [&](const std::string& source, int minutes_ago) {
    const auto file = toy.build(source).player;
    std::filesystem::last_write_time(file, now - std::chrono::minutes(minutes_ago));
    return file;
  };
  const auto used = player(right, 300), unused = player(right + "// unused\n", 200);
  for (int other = 0; other < 40; ++other) {
    const auto file = folder / ("other" + std::to_string(other) + ".player");
    write_text(file, "");
    std::filesystem::last_write_time(file, now - std::chrono::minutes(100));
  }
  CHECK(toy.build(right).cached);
  CHECK_FALSE(toy.build(right + "// another\n").cached);
  CHECK(std::filesystem::exists(used));
  CHECK_FALSE(std::filesystem::exists(unused));
}

TEST_CASE("a student's file: a compile error is told by the student's own line") {
  const StudentBuild build = Toy().build("int broken() { return nothing; }\n");
  CHECK(build.cause == "syntax");
  CHECK_THAT(build.message, test::contains("work/06_x/toy.cpp:1:23: "));
  CHECK_THAT(build.compiler, test::contains("error:"));
}

TEST_CASE("a student's file: a part that is not in it is named before linking") {
  const Toy toy;
  const StudentBuild none = toy.build("int other() { return 1; }\n");
  CHECK(none.cause == "missing_symbol");
  CHECK_THAT(none.message, test::contains("work/06_x/toy.cpp does not define lockstep::toy(int)"));
  const StudentBuild near =
      toy.build("namespace lockstep { int toy(long x) { return int(x); } }\n");
  CHECK(near.cause == "missing_symbol");
  CHECK_THAT(near.message, test::contains("it defines lockstep::toy(long) instead"));
}

TEST_CASE("a student's file: names that take too much room are told as that, and not as missing") {
  std::string source;
  for (int i = 0; i < 3000; ++i) source += text("void ", std::string(100, 'a'), i, "() {}\n");
  const StudentBuild build = Toy().build(source + right);
  CHECK(build.cause == "unreadable_object");
  CHECK_THAT(build.message, test::contains("take more than 256 KiB"));
}

TEST_CASE("a student's file: what cannot be linked is told as that") {
  const StudentBuild build = Toy().build(
      "int elsewhere();\nnamespace lockstep { int toy(int) { return elsewhere(); } }\n");
  CHECK(build.cause == "link");
  CHECK_THAT(build.compiler, test::contains("elsewhere"));
}

TEST_CASE("a command: ends when there is something to read where it was told to stop") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  int seconds = 0;
  const auto stopped =
      run_command({"sh", "-c", "sleep 60 & sleep 60"}, "/", {.deadline_s = 50, .stop = ends[0]}, {},
                  [&](double) { seconds += static_cast<int>(::write(ends[1], "x", 1)); });
  CHECK(stopped.stopped);
  CHECK_FALSE(stopped.timed_out);
  CHECK(seconds == 1);
  CHECK(stopped.seconds < 40);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a command: that is stopped at once ends at once, however far its start has come") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], "x", 1) == 1);
  for (int start = 0; start < 50; ++start) {
    const auto stopped = run_command({"sleep", "20"}, "/", {.deadline_s = 50, .stop = ends[0]});
    CHECK(stopped.stopped);
    REQUIRE(stopped.seconds < 15);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a command: ends at its deadline with all it started, and its output is capped") {
  const auto slow = run_command({"sh", "-c", "while :; do :; done"}, "/", {.deadline_s = 0.2});
  CHECK(slow.timed_out);
  CHECK(slow.exit_code == 128 + 9);
  const auto chatty =
      run_command({"sh", "-c", "head -c 100000 /dev/zero"}, "/", {.output_bytes = 1000});
  CHECK(chatty.exit_code == 0);
  CHECK(chatty.output.size() == 1000);
  CHECK_THROWS(run_command({"/no/such/program"}, "/", {}));
}
