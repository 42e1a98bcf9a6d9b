// Programs that nvcc made, on paper: values are right and errors are CUDA's, whatever order the
// seed draws.
#include <string>

#include "tests/catch.hpp"
#include "tests/paper/run_program.hpp"

using lockstep::test::contains;
using lockstep::test::Ran;
using lockstep::test::run_program;

TEST_CASE("paper: what CUDA promises holds, without a finding, over 8 seeds") {
  const auto [name, settings] = GENERATE(table<std::string, std::string>({
      {"values", ""},
      {"shared_memory", ""},
      {"symbols", ""},
      {"errors_are_told_once", ""},
      {"second_allocation_fails", "PAPER_FAIL_ALLOCATION=2"},
      {"second_launch_fails", "PAPER_FAIL_LAUNCH=2"},
      {"memory_is_limited", "PAPER_MEMORY=1048576"},
      {"pageable_memory_is_staged", ""},
      {"events", ""},
      {"default_stream", ""},
      {"callbacks", ""},
      {"forked", ""},
      {"threads", ""},
      {"attributes", ""},
      {"other_faults_are_passed_on", ""},
  }));
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    INFO(name << ", seed " << seed);
    const Ran ran = run_program("behaviour", name, seed, settings);
    INFO(ran.said);
    REQUIRE(ran.exit_code == 0);
    REQUIRE(ran.said == "");
  }
}

TEST_CASE("paper: a kernel that leaves its memory makes every later call return its error") {
  const Ran ran = run_program("behaviour", "errors_of_kernels_stay", 1);
  INFO(ran.said);
  CHECK(ran.exit_code == lockstep::test::exit_code_of_findings);
  CHECK_THAT(ran.said, contains("paper: out of bounds"));
  CHECK_THAT(ran.said, !contains("does not hold"));
}

TEST_CASE("paper: products are right in every turn, type and shape, and touch no padding") {
  const auto* const name = GENERATE("floats", "doubles", "bfloats", "halves", "other_functions");
  const Ran ran = run_program("products", name, 1);
  INFO(name << ": " << ran.said);
  CHECK(ran.exit_code == 0);
  CHECK(ran.said == "");
}

TEST_CASE("paper: without a device, CUDA says so") {
  const Ran ran = run_program("behaviour", "values", 1, "PAPER_DEVICES=0");
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.said, contains("cudaErrorNoDevice"));
}
