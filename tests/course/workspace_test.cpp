#include "grader/course/workspace.hpp"

#include "grader/course/progress.hpp"
#include "grader/course/task.hpp"
#include "grader/course/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

Course two_exercises() {
  Course course;
  course.lessons = {{"06_x", "X"}};
  Exercise part;
  part.name = "part";
  part.lesson = "06_x";
  Exercise quiz = part;
  quiz.name = "quiz";
  quiz.kind = Kind::quiz;
  course.exercises = {part, quiz};
  return course;
}

}  // namespace

TEST_CASE("the workspace: start copies what is missing and never overwrites") {
  const test::Scratch scratch;
  const Places places{scratch.path(), scratch.path() / "build"};
  const Course course = two_exercises();
  for (const Exercise& exercise : course.exercises) write_text(places.stub(exercise), "stub\n");
  write_text(places.work(course.exercises[0]), "mine\n");

  const auto copied = copy_missing_stubs(places, course);
  REQUIRE(copied.size() == 1);
  CHECK(copied.front()->name == "quiz");
  CHECK(read_text(places.work(course.exercises[0])) == "mine\n");
  CHECK(read_text(scratch.path() / "work/06_x/quiz.toml") == "stub\n");
  CHECK(copy_missing_stubs(places, course).empty());
}

TEST_CASE("the workspace: reset keeps the old file as .bak") {
  const test::Scratch scratch;
  const Places places{scratch.path(), scratch.path() / "build"};
  const Exercise part = two_exercises().exercises.front();
  write_text(places.stub(part), "stub\n");
  write_text(places.work(part), "mine\n");
  reset_work(places, part);
  CHECK(read_text(places.work(part)) == "stub\n");
  CHECK(read_text(places.work(part).string() + ".bak") == "mine\n");
}

TEST_CASE("the workspace: a second reset destroys nothing") {
  const test::Scratch scratch;
  const Places places{scratch.path(), scratch.path() / "build"};
  const Exercise part = two_exercises().exercises.front();
  const std::string file = places.work(part).string();
  write_text(places.stub(part), "stub\n");
  CHECK(reset_work(places, part).empty());
  for (const char* kept : {".bak", ".bak.1", ".bak.2"}) {
    write_text(file, std::string("before ") + kept);
    CHECK(reset_work(places, part) == file + kept);
    CHECK(reset_work(places, part).empty());
    CHECK(read_text(file + kept) == std::string("before ") + kept);
  }
  CHECK(is_pristine(places, part));
}

TEST_CASE("the workspace: reset moves a folder aside that has the file's place") {
  const test::Scratch scratch;
  const Places places{scratch.path(), scratch.path() / "build"};
  const Exercise part = two_exercises().exercises.front();
  write_text(places.stub(part), "stub\n");
  write_text(places.work(part) / "inside.txt", "mine\n");
  const fs::path kept = reset_work(places, part);
  CHECK(read_text(kept / "inside.txt") == "mine\n");
  CHECK(read_text(places.work(part)) == "stub\n");
}

TEST_CASE("the workspace: paths below the root are shown relative to it") {
  const Places places{"/r", "/r/build"};
  CHECK(places.shown("/r/work/06_x/part.cpp") == "work/06_x/part.cpp");
  CHECK(places.shown("/elsewhere/part.cpp") == "/elsewhere/part.cpp");
}

TEST_CASE("progress: survives being written and read, and skips lines it cannot read") {
  const test::Scratch scratch;
  const fs::path file = scratch.path() / "work" / ".progress";
  CHECK(read_progress(file).empty());
  Progress progress;
  progress["06_x/part"] = {0xFFFFFFFFFFFFFFFFu, "wrong answer", 3, 1234567890};
  write_progress(file, progress);
  write_text(file, read_text(file) + "half a line\t12\n\n");
  const Progress read = read_progress(file);
  REQUIRE(read.size() == 1);
  CHECK(read.at("06_x/part").content_hash == 0xFFFFFFFFFFFFFFFFu);
  CHECK(read.at("06_x/part").verdict == "wrong answer");
  CHECK(read.at("06_x/part").points == 3);
  CHECK(read.at("06_x/part").judged_at == 1234567890);
}

TEST_CASE("a task: its text ends where the hints begin") {
  const test::Scratch scratch;
  write_text(scratch.path() / "part.md",
             "# part\nDo it.\n\n## Hint 1: a\none\n## Hint 2: b\ntwo\n");
  const Task task = read_task(scratch.path() / "part.md");
  CHECK(task.text == "# part\nDo it.\n\n");
  REQUIRE(task.hints.size() == 2);
  CHECK(task.hints[1] == "## Hint 2: b\ntwo\n");
}
