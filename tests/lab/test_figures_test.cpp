// What ./lab test prints beside what ctest does: setup/test.sh is given ctest's lines.
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/lab/shell.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string end_of_run =
    "\n92% tests passed, 1 tests failed out of 12\n\nTotal Test time (real) =  97.10 sec\n"
    "Errors while running CTest";

// With a lab-dev that says what it was asked for.
std::string shown(const std::string& printed, const std::string& settings = "") {
  const test::Scratch scratch;
  write_text(scratch.path() / "tests/left_out.txt",
             "# seconds, group\n  33  the site\n   7  twins\n");
  const auto program = scratch.path() / "build/release/bin/lab-dev";
  write_text(program, "#!/bin/sh\necho \"lab-dev $*\"\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  write_text(scratch.path() / "printed", printed);
  return run_command({"sh", "-euc",
                      "root=$1; preset=release; . \"$2/setup/test.sh\"; " + settings +
                          " show_tests <\"$1/printed\"",
                      "sh", scratch.path().string(), LOCKSTEP_ROOT},
                     scratch.path(), test::patient)
      .output;
}

std::string line_of(int number, const std::string& name, const std::string& how) {
  return " " + std::to_string(number) + "/12 Test  #" + std::to_string(number) + ": " + name + " " +
         how + " sec\n";
}

std::string run_of_twelve(const std::string& first) {
  std::string lines = line_of(1, first, ".......   Passed   31.50");
  for (int i = 2; i <= 11; ++i) {
    lines +=
        line_of(i, "test no. " + std::to_string(i), "...   Passed    0.0" + std::to_string(i % 10));
  }
  return lines + line_of(12, "a ring: it is sound", "....***Failed   65.40");
}

}  // namespace

TEST_CASE(
    "lab test: the slowest ten tests stand before ctest's closing lines, which stay the last") {
  const std::string all = run_of_twelve("the first... of all");
  const std::string said = shown(all + end_of_run);
  CHECK(said.starts_with(all));
  CHECK(said.ends_with(end_of_run));
  CHECK_THAT(said,
             test::contains("\n      65.4  a ring: it is sound\n      31.5  the first... of all\n"
                            "       0.1  test no. 9\n"));
  CHECK_THAT(said, !test::contains("  test no. 10\n"));
  CHECK_THAT(said, !test::contains("lab-dev"));
}

TEST_CASE("lab test: a run with proofs shows what exercises cost, and a run of few tests nothing") {
  CHECK_THAT(shown(run_of_twelve("proof of 06_x/toy") + end_of_run),
             test::contains("lab-dev dev costs\n"));
  const std::string few = line_of(1, "one", "...   Passed    0.01") + end_of_run;
  CHECK(shown(few) == few);
}

TEST_CASE(
    "lab test: what was remembered is counted by kind, and nothing is said where nothing was") {
  const std::string all = run_of_twelve("proof of 06_x/toy");
  const auto with = [&](const std::string& sums) {
    return shown(all + end_of_run, "printf '" + sums + "' >\"$root/build/release/trials.txt\";");
  };
  CHECK_THAT(
      with("remembered proof of 06_x/toy\\ntried proof of 06_x/ring\\nremembered proof of a\\n"
           "remembered proof of a\\nremembered proof of 06_x/ring\\n"
           "tried impostors of a, seeds 1 to 3\\nremembered references of a, seeds 1 to 3\\n"),
      test::contains("\n2 of 3 proofs of code, 1 of 1 trials of references, 0 of 1 trials of "
                     "impostors are remembered from earlier runs with the same content;\n"
                     "./lab test --afresh proves them again\n"));
  CHECK_THAT(with("tried proof of 06_x/toy\\n"), !test::contains("remembered"));
}

TEST_CASE(
    "lab test: what was left out is named with its seconds, and a run of all leaves out nothing") {
  const std::string all =
      run_of_twelve("proof of 06_all_reduce/ring_all_reduce") + line_of(13, "last", "Passed 0.01");
  const std::string some = shown(all + end_of_run, "whole=no;");
  CHECK_THAT(some, test::contains("left out and not built; ./lab test --all runs these, too") &&
                       test::contains("\n        33  the site\n         7  twins\n"));
  CHECK(some.ends_with(end_of_run));
  CHECK_THAT(some, !test::contains("# seconds"));
  CHECK_THAT(shown(all + end_of_run, "whole=yes;"), !test::contains("left out"));
}

TEST_CASE("lab test: builds and runs what is always proved, or all with --all") {
  const test::Root root;
  root.program("ninja", "shift 2; echo \"ninja: $*\" >>asked");
  root.program("ctest", "shift 2; echo \"ctest: $*\" >>asked; echo '100% tests passed, 0 tests'");
  write_text(root.scratch.path() / "tests/left_out.txt", "");
  const auto asked = [&](const std::string& options) {
    const auto run = root.run(". " LOCKSTEP_ROOT "/setup/test.sh; lab_test " + options);
    INFO(run.output);
    CHECK(run.exit_code == 0);
    return root.asked();
  };
  CHECK_THAT(asked(""), test::contains("ninja: \nctest: --output-on-failure -j") &&
                            test::contains(" -LE ^whole: \n"));
  CHECK_THAT(asked("--all -- -R ring"),
             test::contains("ninja: all whole\nctest: --output-on-failure -j") &&
                 test::contains(" -R ring\n") && !test::contains("-LE"));
}

TEST_CASE("lab test --share: of N shares, each program is in one, and what runs is named") {
  // Of five made-up programs; `wanted` as it is typed.
  const auto chosen = [](const std::string& wanted) {
    return shown(line_of(1, "one", "...   Passed    0.01") + end_of_run,
                 "fail() { shift; echo \"$*\"; exit 2; }; mkdir -p \"$1/build/release\";"
                 " for i in 1 2 3 4 5; do echo \"test_$i /tests/$i.cmake\"; done"
                 " >\"$1/build/release/test_programs.txt\"; . \"$2/setup/share.sh\";"
                 " choose_share " +
                     wanted + "; cat \"$1/build/release/share/CTestTestfile.cmake\";");
  };
  const std::string first = chosen("1/2");
  CHECK(first.starts_with(
      "include(\"/tests/1.cmake\")\ninclude(\"/tests/3.cmake\")\ninclude(\"/tests/5.cmake\")\n"));
  CHECK_THAT(first, test::contains("\nshare 1 of 2, with release: test_1 test_3 test_5 \n\n"));
  CHECK(first.ends_with(end_of_run));
  CHECK_THAT(chosen("2/2"), test::contains(": test_2 test_4 \n"));
  for (const char* wrong : {"0/2", "3/2", "x", "1/", "/2", "1/2/3", "7/9", "''"}) {
    INFO(wrong);
    CHECK_THAT(chosen(wrong), test::contains("share") && !test::contains("include"));
  }
}
