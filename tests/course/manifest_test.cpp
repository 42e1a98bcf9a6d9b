#include "grader/course/manifest.hpp"

#include <algorithm>
#include <map>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

Course real_course() { return read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml"); }

const std::string lesson_x = "[[lesson]]\nfolder = \"01_x\"\ntitle = \"X\"\n";

// An exercise's manifest, with `more` after it.
std::string manifest_of(const std::string& symbol, const std::string& more = "") {
  return "place = 10\npoints = 10\nminutes = 20\ncore = true\nheader = \"engine/x.hpp\"\n"
         "symbols = [\"" +
         symbol + "\"]\nfamily = \"function\"\nrooms = []\ncases = [1]\n" + more;
}

// A course of lesson 01_x: what course.toml says, and the exercises' manifests by name.
Course course_of(const std::string& course,
                 const std::map<std::string, std::string>& exercises = {}) {
  const test::Scratch scratch;
  const auto folder = scratch.path() / "exercises";
  write_text(folder / "course.toml", course);
  for (const auto& [name, manifest] : exercises) {
    write_text(folder / "01_x" / (name + ".toml"), manifest);
  }
  return read_course(folder / "course.toml");
}

}  // namespace

TEST_CASE("the manifest: lessons and exercises are in course order") {
  const Course course = real_course();
  REQUIRE(course.lessons.size() >= 3);
  REQUIRE(course.exercises.size() >= 5);
  // A text of its own: g++ 12 warns of a comparison with the letters of a longer one.
  const std::string first = "01_why_distribute/model_memory";
  CHECK(course.exercises.front().address() == first);
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
  CHECK(exercise_named(course, "05/quiz").handle() == "05_data_parallel/quiz");
  // By the lesson in which it stood before.
  CHECK(exercise_named(course, "work/13_pipeline_parallel/activation_checkpoint.cpp").address() ==
        "11_sharding/activation_checkpoint");
}

TEST_CASE("the manifest: a name that several lessons use is asked back, with all of them") {
  CHECK_THROWS_WITH(exercise_named(real_course(), "quiz"),
                    test::contains("choose one: 01_why_distribute/quiz, "));
}

TEST_CASE("the manifest: a typing error is answered with the nearest name") {
  const Course course = real_course();
  CHECK_THROWS_WITH(exercise_named(course, "ring_al_reduce"),
                    test::contains("did you mean ring_all_reduce?"));
  CHECK_THROWS_WITH(exercise_named(course, "03_collectives/excange"),
                    test::contains("did you mean 03_collectives/exchange?"));
  CHECK_THROWS_WITH(exercise_named(course, "work/03_collectives/excange.cpp"),
                    test::contains("did you mean 03_collectives/exchange?"));
  CHECK_THROWS_WITH(exercise_named(course, "03/excange"),
                    test::contains("did you mean 03/exchange?"));
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

TEST_CASE("the manifest: exercises of a lesson stand by place, then by name, the quiz last") {
  const Course course = course_of(lesson_x + "quiz = {points = 5, minutes = 9}\n",
                                  {{"b", manifest_of("b()")},
                                   {"a", manifest_of("a()")},
                                   {"first", "place = 5" + manifest_of("c()").substr(10)}});
  std::vector<std::string> addresses;
  for (const Exercise& exercise : course.exercises) addresses.push_back(exercise.address());
  CHECK(addresses == std::vector<std::string>{"01_x/first", "01_x/a", "01_x/b", "01_x/quiz"});
  CHECK(course.exercises.back().points == 5);
}

TEST_CASE("the manifest: the path leads through what it names first, then through the rest") {
  const std::string path = "path = [\"01_x/b\"]\n";
  const Course course =
      course_of(path + lesson_x, {{"a", manifest_of("a()")}, {"b", manifest_of("b()")}});
  CHECK(course.path == std::vector<std::size_t>{1, 0});
  CHECK_THROWS_WITH(course_of("path = [\"01_y\"]\n" + lesson_x),
                    test::contains("exercises/course.toml:1: the path names '01_y'"));
}

TEST_CASE("the manifest: what is missing, unknown or inconsistent is named with file and line") {
  const auto fails = [](const std::map<std::string, std::string>& exercises,
                        const std::string& says) {
    CHECK_THROWS_WITH(course_of(lesson_x, exercises), test::contains(says));
  };
  fails({{"a", "place = 1\n"}}, "exercises/01_x/a.toml:1: the key 'points' is missing");
  fails({{"a", manifest_of("a()", "minuts = 3\n")}},
        "exercises/01_x/a.toml:10: there is no key 'minuts'; did you mean minutes?");
  fails({{"a", manifest_of("a()", "difficulty = 4\n")}},
        "a.toml:10: difficulty is 4; its range is 1");
  fails({{"a", manifest_of("a()", "difficulty = \"x\"\n")}}, "has the wrong type");
  fails({{"a", manifest_of("a()", "after = [\"b\"]\n")}, {"b", manifest_of("b()")}},
        "a.toml:10: a comes after 'b', which does not come before it on the path");
  std::string optional = manifest_of("a()");
  optional.replace(optional.find("core = true"), 11, "core = false");
  fails({{"a", optional}, {"b", manifest_of("b()", "after = [\"a\"]\n")}},
        "b.toml:10: b is core and comes after 'a', which is optional");
  fails({{"a", manifest_of("a()", "may_use = [\"ring\"]\n")}},
        "a.toml:10: there is no part 'ring'");
  fails({{"a", manifest_of("a()")}, {"b", manifest_of("a()")}},
        "exercises/01_x/b.toml:6: 01_x/a defines a(), too");
  fails({{"a", "place = [[\n"}}, "a.toml:1: not valid TOML");
  CHECK_THROWS_WITH(course_of("[[lesson"), test::contains("course.toml:1: not valid TOML"));
  CHECK_THROWS_WITH(course_of("[[lesson]]\nfolder = \"01_x\"\n"),
                    test::contains("the key 'title' is missing"));
}

TEST_CASE("the manifest: a check is declared trivial by its number, and has to exist") {
  const auto declared = [](const std::string& trivial) {
    return course_of(lesson_x, {{"one", manifest_of("one()", "trivial = " + trivial + "\n")}});
  };
  const Course course = declared("{ 1 = \"there is one rank\" }");
  CHECK(course.exercises.front().trivial == std::map<int, std::string>{{1, "there is one rank"}});
  for (const char* wrong : {"{ 0 = \"x\" }", "{ 2 = \"x\" }", "{ first = \"x\" }", "[1]"}) {
    INFO(wrong);
    CHECK_THROWS_AS(declared(wrong), UsageError);
  }
}
