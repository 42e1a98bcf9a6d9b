#include "grader/course/manifest.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "grader/course/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

Course real_course() { return read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml"); }

Course course_of(const std::string& toml) {
  const test::Scratch scratch;
  write_text(scratch.path() / "course.toml", toml);
  return read_course(scratch.path() / "course.toml");
}

}  // namespace

TEST_CASE("the manifest: lessons and exercises are in course order") {
  const Course course = real_course();
  REQUIRE(course.lessons.size() >= 3);
  REQUIRE(course.exercises.size() >= 5);
  CHECK(course.exercises.front().address() == "01_why_distribute/model_memory");
  for (std::size_t i = 1; i < course.exercises.size(); ++i) {
    CHECK(course.exercises[i - 1].lesson <= course.exercises[i].lesson);
  }
}

TEST_CASE("the manifest: an exercise is found by name, address and any of its paths") {
  const Course course = real_course();
  for (const char* name : {"ring_all_reduce", "06_all_reduce/ring_all_reduce",
                           "work/06_all_reduce/ring_all_reduce.cpp",
                           "/somewhere/solutions/06_all_reduce/ring_all_reduce.cpp"}) {
    CHECK(exercise_named(course, name).name == "ring_all_reduce");
  }
  CHECK(exercise_named(course, "05_data_parallel/quiz").handle() == "05_data_parallel/quiz");
}

TEST_CASE("the manifest: a name that several lessons use is asked back, with all of them") {
  CHECK_THROWS_WITH(exercise_named(real_course(), "quiz"),
                    test::contains("say which: 01_why_distribute/quiz, "));
}

TEST_CASE("the manifest: a typing error is answered with the nearest name") {
  const Course course = real_course();
  CHECK_THROWS_WITH(exercise_named(course, "ring_al_reduce"),
                    test::contains("did you mean ring_all_reduce?"));
  CHECK_THROWS_WITH(exercise_named(course, "qqqq"),
                    test::contains("there is no exercise 'qqqq' (./lab list shows all)"));
  CHECK_THROWS_AS(exercise_named(course, ""), UsageError);
}

TEST_CASE("the manifest: a lesson's number stands for all its exercises") {
  const Course course = real_course();
  const auto count = std::ranges::count(course.exercises, "05_data_parallel", &Exercise::lesson);
  CHECK(count >= 3);
  CHECK(std::ssize(exercises_named(course, "05")) == count);
  CHECK(std::ssize(exercises_named(course, "5")) == count);
  CHECK_THROWS_WITH(exercises_named(course, "0"), test::contains("lessons/00_the_lab/README.md"));
  CHECK(std::ssize(exercises_named(course, "05_data_parallel")) == count);
  CHECK(exercises_named(course, "average_gradients").size() == 1);
}

TEST_CASE("the manifest: what is missing or inconsistent is named") {
  CHECK_THROWS_WITH(course_of("[[exercise]]\nname = \"a\"\n"),
                    test::contains("exercise 'a' has no key 'lesson'"));
  const std::string quiz =
      "[[exercise]]\nname = \"quiz\"\nlesson = \"01_x\"\nkind = \"quiz\"\npoints = 1\n"
      "minutes = 1\ncore = true\n";
  CHECK_THROWS_WITH(course_of(quiz), test::contains("a lesson that is not listed"));
  const std::string lesson = "[[lesson]]\nfolder = \"01_x\"\ntitle = \"X\"\n";
  CHECK(course_of(lesson + quiz).exercises.size() == 1);
  CHECK_THROWS_WITH(course_of(lesson + quiz + quiz), test::contains("listed twice"));
  CHECK_THROWS_WITH(course_of(lesson + quiz + "after = [\"b\"]\n"),
                    test::contains("comes after 'b', which is not listed before it"));
  CHECK_THROWS_WITH(course_of(lesson + quiz + "difficulty = 4\n"), test::contains("1, 2 or 3"));
  CHECK_THROWS_WITH(course_of("[[exercise"), test::contains("course.toml:1: not valid TOML"));
}
