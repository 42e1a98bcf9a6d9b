// The impostors that are judged before a class is graded.
#include "grader/batch/run/canary.hpp"

#include <set>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/dev/impostors.hpp"
#include "grader/dev/liars.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

const fs::path root_of_lab = LOCKSTEP_ROOT;

// The lab with a build folder of its own: real judges, and impostors that a test may exchange.
struct TriedLab {
  TriedLab() {
    lab.places = {root_of_lab, scratch.path()};
    lab.course = read_course(lab.places.manifest());
    fs::create_directories(scratch.path() / "bin");
    for (const auto& program : fs::directory_iterator(built() / "bin")) {
      const std::string name = program.path().filename().string();
      if (!name.starts_with("judge-") && !name.starts_with("impostor-")) continue;
      fs::create_symlink(program.path(), scratch.path() / "bin" / name);
    }
  }
  static fs::path built() { return LOCKSTEP_BUILD; }
  // From now on this impostor is a player with the reference in it.
  void promote(const std::string& impostor, const Exercise& exercise) const {
    Places places = lab.places;
    places.build = built();
    const fs::path program = lab.places.impostor(impostor);
    fs::remove(program);
    const StudentBuild build =
        build_player(places, exercise, places.solution(exercise),
                     read_text(places.solution(exercise)), program, openly(places));
    REQUIRE(build.cause.empty());
  }

  test::Scratch scratch;
  Lab lab;
};

}  // namespace

TEST_CASE("canaries: a class is graded with an exam that refuses every impostor") {
  const TriedLab tried;
  CHECK_NOTHROW(send_impostors(tried.lab,
                               {&exercise_named(tried.lab.course, "prefetching_loader"),
                                &exercise_named(tried.lab.course, "training_time")},
                               2, "a secret"));
}

TEST_CASE("canaries: nothing is graded with an exam that an impostor passes") {
  const TriedLab tried;
  const Exercise& exercise = exercise_named(tried.lab.course, "training_time");
  tried.promote("echoing", exercise);
  CHECK_THROWS_WITH(
      send_impostors(tried.lab, {&exercise}, 1, "a secret"),
      test::contains("nothing is graded: the echoing impostor") && test::contains("training_time"));
  const Exercise& other = exercise_named(tried.lab.course, "model_memory");
  CHECK_NOTHROW(send_impostors(tried.lab, {&other}, 1, "a secret"));
}

TEST_CASE("canaries: nothing is graded with an exam that believes a player that lies") {
  const TriedLab tried;
  const Exercise& exercise = exercise_named(tried.lab.course, "prefetching_loader");
  tried.promote("lying-prefetching_loader.hoards", exercise);
  CHECK_THROWS_WITH(send_impostors(tried.lab, {&exercise}, 1, "a secret"),
                    test::contains("nothing is graded: the lying-prefetching_loader.hoards") &&
                        test::contains("Its exam believes it"));
}

TEST_CASE("canaries: each lying impostor is listed with the checks that it lies about") {
  std::set<std::string> listed, there;
  for (const Liar& liar : liars()) listed.insert(liar.exercise + "." + liar.name);
  for (const auto& file : fs::directory_iterator(root_of_lab / "grader/impostors/lying")) {
    there.insert(file.path().stem().string());
  }
  CHECK(listed == there);
}

TEST_CASE("canaries: an impostor that cannot be judged stops the class, too") {
  const TriedLab tried;
  fs::remove(tried.lab.places.impostor("random"));
  CHECK_THROWS_WITH(
      send_impostors(tried.lab, {&exercise_named(tried.lab.course, "training_time")}, 1, "x"),
      test::contains("could not be judged"));
}

TEST_CASE("canaries: only code that is about to be judged sends any") {
  const TriedLab tried;
  const Exercise& exercise = exercise_named(tried.lab.course, "training_time");
  const Exercise& quiz = exercise_named(tried.lab.course, "05_data_parallel/quiz");
  tried.promote("echoing", exercise);
  Places places = tried.lab.places;
  places.build = TriedLab::built();
  const test::Scratch area;
  const Sandbox sandbox(Profile::landlock, places, area.path(),
                        read_recipe(places.recipe(exercise)).compiler);
  const auto tries = [&](const std::vector<PlannedUnit>& units) {
    try_judges(tried.lab, sandbox, area.path(), units, 1, "a secret");
  };
  CHECK_NOTHROW(tries({}));
  CHECK_NOTHROW(tries({{{&quiz, "", 1}, "a quiz"}}));
  CHECK_THROWS_WITH(tries({{{&quiz, "", 1}, "a quiz"}, {{&exercise, "", 1}, "a file"}}),
                    test::contains("nothing is graded: the echoing impostor"));
}
