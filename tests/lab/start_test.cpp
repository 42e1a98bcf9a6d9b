// ./lab start: the shell knows no manifest, and begins with the exercise that the course begins
// with.
#include <algorithm>

#include "grader/course/compile/command.hpp"
#include "grader/course/manifest.hpp"
#include "tests/catch.hpp"
#include "tests/patience.hpp"

using namespace lockstep::grader;
namespace fs = std::filesystem;

TEST_CASE("lab start: the shell begins with the exercise that the path begins with") {
  const fs::path root = LOCKSTEP_ROOT;
  const Course course = read_course(root / "exercises" / "course.toml");
  const auto is_code = [&](std::size_t at) { return course.exercises[at].kind == Kind::code; };
  const auto first = std::ranges::find_if(course.path, is_code);
  REQUIRE(first != course.path.end());
  const CommandResult said = run_command({"sh", "-euc", ". setup/start.sh; first_exercise"}, root,
                                         lockstep::test::patient);
  CHECK(said.output == course.exercises[*first].address() + "\n");
}
