// The autograder that is uploaded to Gradescope: what is in it, and what its script does with a
// hand-in when the lab grades it and when the lab fails.
#include "grader/pack/gradescope_bundle.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

Lab bundled_lab() {
  Lab lab;
  lab.places = {LOCKSTEP_ROOT, LOCKSTEP_ROOT};
  lab.course = read_course(lab.places.manifest());
  return lab;
}

// /autograder with a lab that is a script.
struct Autograder {
  explicit Autograder(const std::string& lab) {
    const fs::path from = fs::path(LOCKSTEP_ROOT) / "grader/pack/gradescope";
    for (const char* script : {"run_autograder", "setup.sh"}) {
      fs::create_directories(source());
      fs::copy_file(from / script, source() / script);
    }
    write_text(source() / "lockstep/lab", "#!/bin/sh\n" + lab);
    fs::permissions(source() / "lockstep/lab", fs::perms::owner_all);
    write_text(source() / "lockstep/exercises/course.toml", "the course");
    write_text(source() / "seed", "a seed");
    write_text(source() / "exercises", "03,ring_all_reduce\n");
    write_text(root() / "submission/work/03_collectives/broadcast.cpp", "an answer");
  }
  const fs::path& root() const { return scratch_.path(); }
  fs::path source() const { return root() / "source"; }
  CommandResult run(const std::string& script) const {
    return run_command(
        {"env", "AUTOGRADER=" + root().string(), "bash", (source() / script).string()}, "/",
        lockstep::test::patient);
  }

 private:
  test::Scratch scratch_;
};

// Grades as ./lab grade does, as far as files go: --out is the fourth word.
const std::string grades =
    "echo \"$*\" >\"$(dirname \"$4\")/asked\"\ncp -R \"$2\" \"$(dirname \"$4\")/taken\"\n"
    "mkdir -p \"$4/gradescope\"; echo '{\"score\": 7}' >\"$4/gradescope/student.json\"\n";

}  // namespace

TEST_CASE("gradescope: the bundle has both scripts, a seed, the sources, mutants and no tests") {
  const Bundle bundle = gradescope_bundle(bundled_lab(), "03,ring_all_reduce", "");
  const auto member = [&](const std::string& path) -> const Member* {
    const auto found = std::ranges::find(bundle.members, path, &Member::path);
    return found == bundle.members.end() ? nullptr : &*found;
  };
  for (const char* script : {"setup.sh", "run_autograder", "lockstep/lab"}) {
    INFO(script);
    REQUIRE(member(script) != nullptr);
    CHECK(member(script)->mode == 0755);
    CHECK(member(script)->content.starts_with("#!"));
  }
  CHECK(member("exercises")->content == "03,ring_all_reduce\n");
  CHECK(member("seed")->content.size() == 65);
  CHECK(bundle.seed_sha256.size() == 64);
  for (const char* file : {"lockstep/CMakeLists.txt", "lockstep/cmake/parts.cmake",
                           "lockstep/solutions/03_collectives/quiz.toml",
                           "lockstep/tests/exercises/07_ddp/assign_buckets/mutants.toml"}) {
    CHECK(member(file) != nullptr);
  }
  CHECK(std::ranges::none_of(bundle.members, [](const Member& each) {
    const bool of_tests = each.path.starts_with("lockstep/tests/");
    return (of_tests && !each.path.ends_with("/mutants.toml")) ||
           each.path.starts_with("lockstep/build/") || each.path.starts_with("lockstep/.git/");
  }));
  const Bundle other = gradescope_bundle(bundled_lab(), "", "");
  CHECK(other.seed_sha256 != bundle.seed_sha256);
  CHECK_THROWS_AS(gradescope_bundle(bundled_lab(), "no_such_exercise", ""), UsageError);
}

TEST_CASE("gradescope: a hand-in is graded as a class of one, and its results are put in place") {
  const Autograder autograder(grades);
  const CommandResult run = autograder.run("run_autograder");
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK(read_text(autograder.root() / "results/results.json") == "{\"score\": 7}\n");
  const std::string asked = read_text(autograder.root() / "asked");
  CHECK_THAT(asked, test::contains("--exercises 03,ring_all_reduce"));
  CHECK_THAT(asked, test::contains("gradescope"));
  CHECK_THAT(asked, test::contains("--seed-file " + (autograder.source() / "seed").string()));
  CHECK(read_text(autograder.root() / "taken/student/work/03_collectives/broadcast.cpp") ==
        "an answer");
  const auto owner_only = fs::perms::owner_read | fs::perms::owner_write;
  CHECK(fs::status(autograder.source() / "seed").permissions() == owner_only);
}

TEST_CASE("gradescope: when the lab fails there are no results, and nobody gets no points") {
  const Autograder autograder(grades + "echo no room; exit 4\n");
  write_text(autograder.root() / "results/results.json", "of the one before");
  const CommandResult run = autograder.run("run_autograder");
  CHECK(run.exit_code == 1);
  CHECK_THAT(run.output, test::contains("exit code 4; this is not the student's doing\nno room"));
  CHECK(!fs::exists(autograder.root() / "results/results.json"));
}

TEST_CASE("gradescope: the image is built by grading nobody, and says when no sandbox holds") {
  const std::string stub = "test -f \"$2/nobody/work/course.toml\" || exit 9\n";
  const CommandResult built = Autograder(stub).run("setup.sh");
  CHECK(built.exit_code == 0);
  CHECK_THAT(built.output, test::contains("its sandbox holds"));
  const CommandResult open = Autograder(stub + "exit 3\n").run("setup.sh");
  CHECK(open.exit_code == 0);
  CHECK_THAT(open.output, test::contains("does not hold while images are built"));
  CHECK(Autograder(stub + "exit 4\n").run("setup.sh").exit_code == 4);
}
