#include "grader/course/workspace.hpp"

#include "engine/base/error.hpp"
#include "grader/course/moved_exercise.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/task.hpp"
#include "grader/course/text/text_file.hpp"
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

TEST_CASE(
    "the workspace: a file of an exercise that moved to another lesson is moved, and its "
    "progress") {
  const test::Scratch scratch;
  const Places places{scratch.path(), scratch.path() / "build"};
  Course course = two_exercises();
  Exercise& part = course.exercises.front();
  part.moved_from = "09_y";
  write_text(places.stub(part), "stub\n");
  const fs::path earlier = scratch.path() / "work/09_y/part.cpp";
  write_text(earlier, "mine\n");
  write_text(places.work(part), "stub\n");  // handed out at the new place, and never changed
  const Judged passed{content_hash("mine\n"), content_hash("stub\n"), "pass", 10, 5, "", ""};
  change_progress(places.progress(), [&](Progress& all) { all["09_y/part"].judged(passed); });

  const auto told = take_over_moved(places, course);
  REQUIRE(told.size() == 1);
  CHECK_THAT(told.front(), test::contains("work/09_y/part.cpp was moved to work/06_x/part.cpp"));
  CHECK(read_text(places.work(part)) == "mine\n");
  CHECK_FALSE(fs::exists(earlier));
  const Progress progress = read_progress(places.progress());
  CHECK_FALSE(progress.contains("09_y/part"));
  REQUIRE(progress.contains("06_x/part"));
  CHECK(progress.at("06_x/part").passed->content_hash == passed.content_hash);
  CHECK(take_over_moved(places, course).empty());

  // What the student wrote at the new place stays, and so does the old file.
  write_text(earlier, "older\n");
  CHECK(take_over_moved(places, course).empty());
  CHECK(read_text(places.work(part)) == "mine\n");
  CHECK(read_text(earlier) == "older\n");
}

TEST_CASE("the workspace: a file that cannot be moved to its new lesson says what to type") {
  const test::Scratch scratch;
  const Places places{scratch.path(), scratch.path() / "build"};
  Course course = two_exercises();
  course.exercises.front().moved_from = "09_y";
  write_text(places.stub(course.exercises.front()), "stub\n");
  write_text(scratch.path() / "work/09_y/part.cpp", "mine\n");
  write_text(scratch.path() / "work/06_x", "a file where the lesson's folder goes\n");
  try {
    take_over_moved(places, course);
    FAIL("nothing was thrown");
  } catch (const UsageError& error) {
    CHECK_THAT(error.what(), test::contains("mv work/09_y/part.cpp work/06_x/part.cpp"));
  }
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

TEST_CASE("a task: its text ends where the hints begin") {
  const test::Scratch scratch;
  write_text(scratch.path() / "part.md",
             "# part\nDo it.\n\n## Hint 1: a\none\n## Hint 2: b\ntwo\n");
  const Task task = read_task(scratch.path() / "part.md");
  CHECK(task.text == "# part\nDo it.\n\n");
  REQUIRE(task.hints.size() == 2);
  CHECK(task.hints[1] == "## Hint 2: b\ntwo\n");
}

TEST_CASE("a task: hints for causes are no rungs, and stand anywhere among them") {
  const test::Scratch scratch;
  write_text(scratch.path() / "part.md",
             "# part\n\n## Hint for tail_lost, cycle: c\nthree\n## Hint 1: a\none\n");
  const Task task = read_task(scratch.path() / "part.md");
  CHECK(task.text == "# part\n\n");
  REQUIRE(task.hints.size() == 1);
  REQUIRE(task.hint_for("cycle") != nullptr);
  CHECK(task.hint_for("cycle") == task.hint_for("tail_lost"));
  CHECK(task.hint_for("cycle")->text == "## Hint for tail_lost, cycle: c\nthree\n");
  CHECK(task.hint_for("tail") == nullptr);
}
