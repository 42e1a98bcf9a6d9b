// What ./lab does before a training run: it asks the trainer which program the run needs, and
// builds that.
#include "tests/catch.hpp"
#include "tests/lab/shell.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::Programs, lockstep::test::Root;
namespace fs = std::filesystem;

TEST_CASE("lab train, run: a way to train that has a program of its own is run by that") {
  const Programs programs;
  programs.program("train",
                   "[ \"$1\" != --needed-program ] || { [ \"$2\" != --other ] || echo train-other "
                   "another way; exit 0; }\necho train \"$@\"");
  programs.program("train-other", "echo train-other \"$@\"");
  CHECK(programs.lab({"train", "--other", "a b"}).output == "train-other --other a b\n");
  CHECK(programs.lab({"train", "--steps", "2"}).output == "train --steps 2\n");
}

TEST_CASE("lab train: such a program is built when it is first used, and a line says so") {
  const Root root;
  root.program("train", "[ \"$2\" != --other ] || echo train-other another way");
  root.program("ninja", "echo \"$3\" >>built; [ \"$3\" != train-other ] || cp train train-other");
  const std::string begin = "bin=$root; . " LOCKSTEP_ROOT "/setup/engine.sh\nready() { :; }\n";
  const auto built = [&](const std::string& words) {
    const std::string said = root.run(begin + "build_trainer " + words + "; echo $trainer").output;
    const std::string all = read_text(root.scratch.path() / "built");
    fs::remove(root.scratch.path() / "built");
    return said + "built: " + all;
  };
  CHECK(built("--steps 2") == "train\nbuilt: train\n");
  CHECK(built("--other") ==
        "the trainer with another way is built once, when it is first used\ntrain-other\nbuilt: "
        "train\ntrain-other\n");
  CHECK(built("--other") == "train-other\nbuilt: train\ntrain-other\n");
}

TEST_CASE("build: a compiler that is gone is named, and not the lab's own code") {
  const Root root;
  root.program("ninja", "echo '/bin/sh: 1: c++-gone: not found'; exit 1");
  const auto ran = root.run(
      "echo CMAKE_CXX_COMPILER:STRING=c++-gone >build/release/CMakeCache.txt\nbuild train");
  CHECK(ran.exit_code == 3);
  CHECK_THAT(ran.output, test::contains("building failed because the compiler c++-gone is gone"));
}
