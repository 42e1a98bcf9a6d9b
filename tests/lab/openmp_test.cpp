// How ./lab lets OpenMP's threads wait, with a program that only says what it was told.
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

TEST_CASE("lab train: OpenMP's threads spin briefly, unless somebody chose how they wait") {
  const test::Scratch scratch;
  const fs::path train = scratch.path() / "bin" / "train";
  write_text(train,
             "#!/bin/sh\n[ \"$1\" != --needed-program ] || { echo train; exit; }\necho "
             "\"${GOMP_SPINCOUNT-unset} ${OMP_WAIT_POLICY-unset}\"\n");
  fs::permissions(train, fs::perms::owner_all);
  const auto told = [&](const std::string& chosen) {
    return run_command({"env", "-u", "GOMP_SPINCOUNT", "-u", "OMP_WAIT_POLICY", chosen,
                        LOCKSTEP_ROOT "/lab", "--built", scratch.path().string(), "train"},
                       scratch.path(), {.deadline_s = 100})
        .output;
  };
  CHECK(told("OMP_NUM_THREADS=2") == "10000 unset\n");
  CHECK(told("GOMP_SPINCOUNT=7") == "7 unset\n");
  CHECK(told("OMP_WAIT_POLICY=active") == "unset active\n");
}
