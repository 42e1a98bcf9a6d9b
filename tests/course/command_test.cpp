// Commands that are bounded by what they do, and not by the wall's clock.
#include "grader/course/compile/command.hpp"

#include "tests/catch.hpp"

using namespace lockstep::grader;

TEST_CASE("a command: on a busy machine, one whose processes get on is not ended at the deadline") {
  // The shell's child is ended after two seconds of processor time, as the kernel's ticks count
  // them, however long that takes: it has worked for longer than the deadline.
  const std::string works = "sh -c 'ulimit -t 2; while :; do :; done'; echo over";
  const auto patient = run_command({"sh", "-c", works}, "/", {.deadline_s = 1, .work_s = 30});
  CHECK_FALSE(patient.timed_out);
  CHECK_THAT(patient.output, lockstep::test::contains("over"));
  CHECK(patient.processor_s > 1);
  CHECK(run_command({"sh", "-c", works}, "/", {.deadline_s = 1}).timed_out);
}

TEST_CASE("a command: one that gets nowhere is ended, however little it has worked") {
  const auto hangs =
      run_command({"sh", "-c", "sleep 100; true"}, "/", {.deadline_s = 0.2, .work_s = 30});
  CHECK(hangs.timed_out);
  CHECK(hangs.processor_s < 30);
}

TEST_CASE("a command: one that works without end is ended by what it has used") {
  const auto spins =
      run_command({"sh", "-c", "while :; do :; done"}, "/", {.deadline_s = 0.3, .work_s = 0.6});
  CHECK(spins.timed_out);
  CHECK(spins.processor_s > 0.55);
}

TEST_CASE("a command: one that writes without end is ended by what it has written") {
  const auto flood =
      run_command({"yes"}, "/", {.deadline_s = 100, .output_bytes = 10, .flood_bytes = 1 << 20});
  CHECK(flood.flooded);
  CHECK_FALSE(flood.timed_out);
  CHECK(flood.exit_code != 0);
  CHECK(flood.output.size() == 10);
  CHECK_FALSE(run_command({"echo", "y"}, "/", {.flood_bytes = 2}).flooded);
}
