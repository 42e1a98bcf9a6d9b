#include "grader/course/proofs/broken.hpp"

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
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

TEST_CASE("a broken part: a run that comes first has options on top of those of both runs") {
  const Course course = the_course();
  CHECK(read(course, whole)[0].before.empty());
  const std::vector<Broken> all = read(course, whole + "before = '--steps 15'\n");
  CHECK(all[0].before == std::vector<std::string>{"--steps", "15"});
  check_refused(whole + "before = ''\n", "'before' must be a non-empty string");
  const std::vector<Broken> each = read(course, whole + "each_before = '--steps 15'\n");
  CHECK(each[0].before.empty());
  CHECK(each[0].each_before == std::vector<std::string>{"--steps", "15"});
}

TEST_CASE("a broken part: where the sound run has other options, no file replaces the part") {
  const Course course = the_course();
  CHECK(read(course, whole)[0].sound.empty());
  const std::string options = without(whole, "name") + "name = 'loud'\nsound = '--ranks 1'\n";
  const std::vector<Broken> all = read(course, options);
  CHECK(all[0].sound == std::vector<std::string>{"--ranks", "1"});
  CHECK(all[0].source.empty());
  check_refused(whole + "sound = 3\n", "'sound' must be a non-empty string");
}

TEST_CASE("a broken part: what is missing or unknown is told with its line") {
  for (const char* key : {"name", "part", "run", "shows", "what", "why"}) {
    check_refused(without(whole, key),
                  std::string("'") + key + "' must be a non-empty string in quotes");
  }
  check_refused("\n" + without(whole, "name") + "name = 'loud'\n", "broken.toml:8: there is no ");
  check_refused(without(whole, "part") + "part = 'average_gradient'\n", "broken.toml:7: ");
  check_refused(without(whole, "shows") + "shows = 'pain'\n",
                "replicas, loss, order, end, bytes, time or steps");
}
