// What is said of a build while it runs, on a terminal and in a log.
#include "grader/lab/build_progress.hpp"

#include "tests/catch.hpp"

using lockstep::grader::BuildProgress;
using Shown = BuildProgress::Shown;

namespace {

// A build of so many steps.
std::string said_of(int steps, Shown shown) {
  BuildProgress progress(shown);
  std::string said = progress.heard("[0/2] Re-checking globbed directories...");
  for (int step = 1; step <= steps; ++step) {
    said += progress.heard("[" + std::to_string(step) + "/" + std::to_string(steps) +
                           "] Building CXX object engine/comm/CMakeFiles/x.dir/store.cpp.o");
    said += progress.heard("a warning of the compiler");
  }
  return said + progress.ended();
}

}  // namespace

TEST_CASE("build: a log says that it runs, and each quarter of a long one") {
  CHECK(said_of(0, Shown::in_a_log) == "");
  CHECK(said_of(2, Shown::in_a_log) == "building…\n");
  CHECK(said_of(19, Shown::in_a_log) == "building…\n");
  CHECK(said_of(80, Shown::in_a_log) ==
        "building: 80 steps…\nbuilding: 20 of 80 steps\nbuilding: 40 of 80 steps\n"
        "building: 60 of 80 steps\n");
  BuildProgress again(Shown::in_a_log);
  CHECK(again.heard("[1/2] Re-running CMake...") == "");
  CHECK(again.heard("[1/80] one") == "building: 80 steps…\n");
  CHECK(again.heard("[2/80] two") == "");
  CHECK_THAT(said_of(83, Shown::in_a_log),
             lockstep::test::contains("building: 60 of 83 steps\n") &&
                 !lockstep::test::contains("of 83 steps\nbuilding: 80"));
}

TEST_CASE("build: a terminal has one line with the step and the folder, which goes at the end") {
  CHECK(said_of(0, Shown::on_a_terminal) == "");
  CHECK(said_of(2, Shown::on_a_terminal) ==
        "\r  building [1/2] engine/comm\033[K\r  building [2/2] engine/comm\033[K\r\033[K");
  BuildProgress progress(Shown::on_a_terminal);
  CHECK(progress.heard("[3/4] Linking CXX executable bin/train") == "\r  building [3/4]\033[K");
}

TEST_CASE("build: the time that is left is said once a tenth is done and two seconds have passed") {
  const std::string object = " Building CXX object engine/comm/CMakeFiles/x.dir/store.cpp.o";
  BuildProgress progress(Shown::on_a_terminal);
  const auto shown = [&](const std::string& counter, const std::string& words) {
    CHECK(progress.heard(counter + object) == "\r  building " +
                                                  counter.substr(0, counter.find(' ')) +
                                                  " engine/comm" + words + "\033[K");
  };
  shown("[1/40] 2.5", "");
  shown("[4/40] 1.9", "");
  shown("[4/40] 4.0", ", about 35 s left");
  shown("[10/40] 60.0", ", about 3 minutes left");
  shown("[36/40] 50.0", ", about 6 s left");
  shown("[40/40] 60.0", "");
  BuildProgress log(Shown::in_a_log);
  CHECK(log.heard("[1/80] 1.000" + object) == "building: 80 steps…\n");
  CHECK(log.heard("[20/80] 10.000" + object) == "building: 20 of 80 steps, about 30 s left\n");
}

TEST_CASE("build: with a plan, what a compiler does counts for more than what an archiver does") {
  std::string plan;
  const auto line = [](int step, const std::string& what) {
    return "[" + std::to_string(step) + "/20] 5.000 " + what + "\n";
  };
  for (int i = 1; i <= 10; ++i) plan += line(i, "Building CXX object a/CMakeFiles/x.dir/y.cpp.o");
  for (int i = 11; i <= 20; ++i) plan += line(i, "Linking CXX static library liby.a");
  BuildProgress progress(Shown::on_a_terminal, plan);
  CHECK(progress.waited(1) == "\r  building [0/20]\033[K");
  std::string last;
  for (int i = 1; i <= 5; ++i) last = progress.heard(line(i, "Building CXX object a/CMakeFiles/y"));
  CHECK(last == "\r  building [5/20] a, about 6 s left\033[K");
  for (int i = 6; i <= 9; ++i) last = progress.heard(line(i, "Building CXX object a/CMakeFiles/y"));
  CHECK(last == "\r  building [9/20] a\033[K");
}

TEST_CASE("build: a first step that takes long is announced on a terminal, once") {
  BuildProgress progress(Shown::on_a_terminal);
  CHECK(progress.waited(0.5) == "");
  CHECK(progress.waited(1) == "\r  building…\033[K");
  CHECK(progress.waited(2) == "");
  CHECK(progress.ended() == "\r\033[K");
  BuildProgress log(Shown::in_a_log);
  CHECK(log.waited(2) == "");
  CHECK(log.ended() == "");
}
