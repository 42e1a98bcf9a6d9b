#include "tests/lessons/changelog.hpp"

#include "engine/base/text.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/text.hpp"

using namespace lockstep::lessons;

namespace {

// Two exercises: ring, which has had three versions, and a quiz with one.
lockstep::grader::Course two_exercises() {
  lockstep::grader::Course course;
  course.exercises.resize(2);
  course.exercises[0].name = "ring";
  course.exercises[0].version = 3;
  course.exercises[1].name = "quiz";
  course.exercises[1].lesson = "06_x";
  course.exercises[1].kind = lockstep::grader::Kind::quiz;
  return course;
}

using Problems = std::vector<std::string>;

}  // namespace

TEST_CASE("the changelog: every version from 2 on has its line, newest day first") {
  CHECK(changelog_problems("## 2026-11-26\n\n- `ring` 3: why\n\n## 2026-11-25\n- `ring` 2: why\n",
                           two_exercises()) == Problems{});
}

TEST_CASE("the changelog: a version without a line is told with the line to write") {
  CHECK(changelog_problems("- `ring` 2: why\n", two_exercises()) ==
        Problems{"CHANGELOG.md: ring has version 3, but no line says why: - `ring` 3: …"});
}

TEST_CASE("the changelog: a line without its version, and a day in the wrong place") {
  CHECK(changelog_problems("## 2026-11-25\n- `ring` 2: a\n- `ring` 3: b\n## 2026-11-26\n"
                           "- `06_x/quiz` 2: c\n",
                           two_exercises()) ==
        Problems{"CHANGELOG.md: 2026-11-26 stands below 2026-11-25: the newest day comes first",
                 "CHANGELOG.md: `06_x/quiz` 2 is no version from 2 on of an exercise in the "
                 "manifests"});
}

TEST_CASE("the changelog: CHANGELOG.md names the versions that the manifests have") {
  const auto course =
      lockstep::grader::read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml");
  std::string all;
  for (const std::string& problem : changelog_problems(file_text("CHANGELOG.md"), course)) {
    all += problem + "\n";
  }
  CHECK(all == "");
}
