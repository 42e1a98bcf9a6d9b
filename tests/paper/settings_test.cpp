// What paper can be told: other drivers and devices, faults that strike once, counters.
#include <string>

#include "tests/catch.hpp"
#include "tests/paper/run_program.hpp"

using lockstep::test::contains;
using lockstep::test::exit_code_of_findings;
using lockstep::test::Ran;
using lockstep::test::run_program;

TEST_CASE("paper: no driver and a driver that is too old are told with CUDA's error") {
  const auto version = GENERATE("0", "12080");
  const Ran ran = run_program("told", "driver", 1, std::string("PAPER_DRIVER=") + version);
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.said, contains(std::string("driver ") + version + ": CUDA driver version is "));
}

TEST_CASE("paper: a device that is older than the PTX has no image of its kernels") {
  const Ran ran = run_program("told", "older_device", 1, "PAPER_CAPABILITY=75");
  INFO(ran.said);
  CHECK(ran.exit_code == 0);
}

TEST_CASE("paper: an instruction that it does not know is refused by name, with its line") {
  const Ran ran = run_program("told", "unknown_instruction", 1,
                              "PAPER_PTX_EDIT='fill~1~st.global~st.elsewhere'");
  INFO(ran.said);
  CHECK(ran.exit_code == exit_code_of_findings);
  CHECK_THAT(ran.said,
             contains("paper: refused") && contains("st.elsewhere.f32") && contains("common.cuh:"));
  CHECK_THAT(ran.said, !contains("does not hold"));
}

TEST_CASE("paper: it says where a fault has struck, and how many chances it had") {
  const Ran ran = run_program("told", "chances", 1);
  INFO(ran.said);
  CHECK(ran.exit_code == 0);
}

TEST_CASE("paper: a variable that it does not know, or cannot read, ends the program") {
  for (const auto& [setting, said] : {
           std::pair{"PAPER_SEDE=3",
                     "there is no variable PAPER_SEDE; its variables are PAPER_SEED"},
           std::pair{"PAPER_SEED=x", "PAPER_SEED takes a whole number, not 'x'"},
           std::pair{"PAPER_DEVICES=-2", "PAPER_DEVICES takes a whole number, not '-2'"},
           std::pair{"PAPER_STRICT=yes", "PAPER_STRICT takes 0 or 1, not 'yes'"},
       }) {
    const Ran ran = run_program("behaviour", "values", 1, setting);
    INFO(ran.said);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.said, contains(said));
  }
}

TEST_CASE("paper: a fault that did not strike is told at the end") {
  const Ran late = run_program("behaviour", "values", 1, "PAPER_FAIL_LAUNCH=40");
  CHECK_THAT(late.said, contains("the fault fail_launch=40 did not strike: it had 3 chances"));
  const Ran nowhere = run_program("behaviour", "values", 1, "PAPER_PTX_EDIT='nosuch~1~a~b'");
  CHECK_THAT(nowhere.said, contains("ptx_edit changed nothing: no kernel of the program"));
  CHECK_THAT(run_program("behaviour", "values", 1, "PAPER_PTX_EDIT='fill~1~ret~ret'").said,
             !contains("changed nothing"));
}

TEST_CASE("paper: each call of a program that needs the device can fail") {
  const Ran whole = run_program("behaviour", "values", 1);
  REQUIRE(whole.exit_code == 0);
  int n = 1;
  for (; n < 100; ++n) {
    const Ran ran = run_program("behaviour", "values", 1, "PAPER_FAIL_CALL=" + std::to_string(n));
    INFO(n << ": " << ran.said);
    if (ran.exit_code == 0) break;  // the program makes fewer calls
    CHECK(ran.exit_code != 128 + 11);
    CHECK_THAT(ran.said, contains("cudaError") || contains("does not hold"));
  }
  CHECK(n == 9);  // two blocks, a stream, three launches, a wait and a copy
}

TEST_CASE("paper: a wait of the host that is left out is found, with every seed") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Ran ran = run_program("faults", "pinned_read_early clean", seed, "PAPER_SKIP_WAIT=1");
    INFO(ran.said);
    CHECK(ran.exit_code == exit_code_of_findings);
    CHECK_THAT(ran.said, contains("reads pinned memory that cudaMemcpyAsync (#2 of stream 1)"));
  }
}

TEST_CASE("paper: a launch that goes to another stream is found, with every seed") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Ran ran = run_program("behaviour", "values", seed, "PAPER_MOVE_LAUNCH=1");
    INFO(ran.said);
    CHECK(ran.exit_code != 0);
    CHECK_THAT(ran.said,
               contains("race between streams") && contains("fill (#1 of a stray stream)"));
  }
}

TEST_CASE("paper: a copy that goes to another stream is found, with every seed") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Ran ran = run_program("faults", "pinned_read_early clean", seed, "PAPER_MOVE_LAUNCH=2");
    INFO(ran.said);
    CHECK(ran.exit_code == exit_code_of_findings);
    CHECK_THAT(ran.said, contains("race between streams") &&
                             contains("cudaMemcpyAsync (#1 of a stray stream)"));
  }
}

TEST_CASE("paper: counters are a table, a line a kernel") {
  const Ran ran = run_program("behaviour", "values", 1, "PAPER_COUNTERS=1");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.said, contains("launches  instructions") && contains("  scale\n") &&
                           contains("       2") && contains("  fill\n"));
}

TEST_CASE("paper: how fast the host side is", "[.speed]") {
  for (const std::string name : {"pipeline", "allocations", "copies", "products"}) {
    WARN(name << ": " << run_program("load", name, 1).said);
  }
}
