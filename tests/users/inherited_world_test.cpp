// What a process inherits: descriptors, variables, the folder for temporary files, and the name by
// which it was called.
#include "tests/catch.hpp"
#include "tests/users/program.hpp"

using namespace lockstep::test;

namespace {

const std::string two_ranks = "$bin/train --ranks 2 --data synthetic --steps 3 ";

}  // namespace

TEST_CASE("inherited: with any of descriptors 0 to 2 closed, it is as with /dev/null") {
  const Place place;
  for (const std::string closed :
       {"<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    const std::vector<std::string> commands{
        two_ranks + "--export w.safetensors",
        "$bin/lockstep-run --ranks 2 -- echo hi",
        "$bin/lockstep-run --ranks 2 --prefix none --log-dir logs -- echo hi",
        "$bin/sim --ranks 8 ring_all_reduce",
        "$bin/lab-tool list",
        "$bin/lab-tool list --json"};
    for (const std::string& command : commands) {
      fs::remove(place.path() / "w.safetensors");
      const auto ran = place.shell(command + " " + closed);
      CAPTURE(command, closed, ran.output);
      CHECK(ran.exit_code == 0);
      CHECK((command.find("--export") == std::string::npos || place.has("w.safetensors")));
      if (closed.find(">&-") == std::string::npos) CHECK_FALSE(ran.output.empty());
    }
  }
}

TEST_CASE("inherited: the variables of another launcher are named, with what gets rid of them") {
  const Place place;
  const auto part = place.shell("export RANK=0; " + two_ranks);
  CAPTURE(part.output);
  CHECK(part.exit_code == 2);
  CHECK_THAT(part.output, contains("RANK=0 is set here") && contains("env -u RANK in front of"));
}

TEST_CASE("inherited: variables for one rank do not keep --ranks 2 from starting two") {
  const Place place;
  const std::string six =
      "export RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=localhost "
      "MASTER_PORT=29512; ";
  const auto ran = place.shell(six + two_ranks);
  CAPTURE(ran.output);
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.output, contains("RANK=0, WORLD_SIZE=1,") && contains("starts its own ranks") &&
                             contains("2 replicas are equal"));
  const auto srun = place.shell(
      "export SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 "
      "SLURM_NTASKS=1 SLURM_STEP_NUM_TASKS=1 SLURM_TASKS_PER_NODE=1 SLURM_STEP_NODELIST=localhost "
      "SLURM_JOB_NODELIST=localhost; " +
      two_ranks);
  CAPTURE(srun.output);
  CHECK(srun.exit_code == 0);
  CHECK_THAT(srun.output, contains("SLURM_PROCID=0 is set here") && contains("2 replicas"));
}

TEST_CASE("inherited: a TMPDIR that is not there is named with its value and a way out") {
  const Place place;
  const std::vector<std::string> commands{two_ranks, "$bin/lockstep-run --ranks 2 -- echo hi",
                                          "$bin/lockstep-run --ranks 1 -- echo hi"};
  for (const std::string& command : commands) {
    const auto ran = place.shell("export TMPDIR=/scratch/nobody/job.1; " + command);
    CAPTURE(ran.output);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.output, contains("TMPDIR is \"/scratch/nobody/job.1\"") &&
                               contains("TMPDIR=/tmp") && !contains("temp_directory_path"));
  }
  write_text(place.path() / "file", "");
  CHECK_THAT(place.shell("TMPDIR=$PWD/file $bin/lockstep-run --ranks 1 -- true").output,
             contains("TMPDIR is ") && contains("Not a directory"));
  CHECK(place.shell("mkdir 'a b'; TMPDIR=\"$PWD/a b\" " + two_ranks).exit_code == 0);
}

TEST_CASE("inherited: ./lab is found through links, relative and of links") {
  const Place place;
  const auto ran = place.shell(
      "mkdir -p 'my bin/deep'; ln -s " LOCKSTEP_ROOT
      "/lab 'my bin/lab'; ln -s ../lab "
      "'my bin/deep/lab'; ln -s 'my bin/deep/lab' lab2\n"
      "PATH=\"$PWD/my bin:$PATH\" lab help | head -1; 'my bin/deep/lab' help | head -1\n"
      "./lab2 help | head -1; sh lab2 help | head -1; cd /; " +
      place.path().string() + "/lab2 help | head -1");
  const std::string one =
      "usage: ./lab COMMAND [ARGUMENTS…]        ./lab COMMAND --help says more\n";
  CHECK(ran.output == one + one + one + one + one);
}

TEST_CASE("inherited: ./lab itself runs with closed descriptors") {
  const Place place;
  for (const std::string closed : {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"}) {
    const auto ran =
        place.shell(LOCKSTEP_ROOT "/lab --built " + fs::path(LOCKSTEP_BIN).parent_path().string() +
                    " train --ranks 2 --data synthetic --steps 3 --export w.safetensors " + closed);
    CAPTURE(closed, ran.output);
    CHECK(ran.exit_code == 0);
    CHECK(place.has("w.safetensors"));
    fs::remove(place.path() / "w.safetensors");
  }
}

TEST_CASE("inherited: no exception of the standard library reaches a person") {
  const Place place;
  const auto memory = place.shell(
      "yes word | head -c 400000000 > large.txt; ulimit -v 700000; $bin/train --model gpt --data "
      "text:large.txt --layers 1 --width 16 --heads 2 --sequence 16 --steps 1");
  CAPTURE(memory.output);
  CHECK(memory.exit_code == 3);
  CHECK_THAT(memory.output, contains("not enough memory") && !contains("bad_alloc"));
}
