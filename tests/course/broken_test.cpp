#include "grader/course/broken.hpp"

#include "engine/base/error.hpp"
#include "grader/course/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

Course the_course() { return read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml"); }

const std::string whole =
    "[[break]]\nname = 'quiet'\npart = 'average_gradients'\nrun = '--ranks 4 --steps 2'\n"
    "shows = 'loss'\nwhat = 'w'\nwhy = 'y'\n";

// What is read of a lesson with this broken.toml and the file quiet.cpp.
std::vector<Broken> read(const Course& course, const std::string& toml) {
  const test::Scratch scratch;
  const auto folder = scratch.path() / "lessons" / "05_x" / "broken";
  write_text(folder / "quiet.cpp", "");
  write_text(folder / "broken.toml", toml);
  return broken_parts(scratch.path(), course);
}

void check_refused(const std::string& toml, const std::string& words) {
  const Course course = the_course();
  CHECK_THROWS_WITH(read(course, toml), test::contains(words));
}

std::string without(std::string toml, const std::string& key) {
  const std::size_t begin = toml.find(key + " = ");
  return toml.erase(begin, toml.find('\n', begin) + 1 - begin);
}

}  // namespace

TEST_CASE("a broken part: has its file, the part it replaces, and the run that shows it") {
  const Course course = the_course();
  const std::vector<Broken> all = read(course, whole);
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == "quiet");
  CHECK(all[0].part == &exercise_named(course, "average_gradients"));
  CHECK(all[0].run == std::vector<std::string>{"--ranks", "4", "--steps", "2"});
  CHECK(all[0].shows == Symptom::loss);
  CHECK(all[0].source.filename() == "quiet.cpp");
}

TEST_CASE("a broken part: what is missing or unknown is told with its line") {
  for (const char* key : {"name", "part", "run", "shows", "what", "why"}) {
    check_refused(without(whole, key),
                  std::string("'") + key + "' must be a non-empty string in quotes");
  }
  check_refused("\n" + without(whole, "name") + "name = 'loud'\n", "broken.toml:8: there is no ");
  check_refused(without(whole, "part") + "part = 'average_gradient'\n", "broken.toml:7: ");
  check_refused(without(whole, "shows") + "shows = 'pain'\n",
                "replicas, loss, order, end, bytes or time");
}
