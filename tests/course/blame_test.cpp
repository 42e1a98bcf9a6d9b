// Who is to blame for a build that failed: tools that fail as compilers and linkers do.
#include <algorithm>
#include <map>

#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/compile/compiler_text.hpp"
#include "grader/course/compile/student_build.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

constexpr const char* shown = "work/06_x/toy.cpp";

// One command of a build; for a content, what the compiler and the linker do.
struct Does {
  int exit_code = 0;
  std::string says;
  bool late = false;
  double processor_s = 0.1;
};

// A bench where nothing is compiled: the "tools" do what the test tells them.
struct BuildBench {
  BuildBench() {
    exercise.name = "toy";
    exercise.lesson = "06_x";
    exercise.symbols = {"lockstep::toy(int)"};
    places = {scratch.path(), scratch.path() / "build"};
    write_text(places.recipe(exercise), "compiler c++\ncompile_flag -std=c++20\n");
    write_text(places.stub(exercise), "the stub");
  }

  CommandResult run(const std::vector<std::string>& argv) {
    CommandResult result;
    result.limits = {.deadline_s = 60, .cpu_s = 20};
    if (argv.front() == "nm") {
      result.output = "0000000000000000 T lockstep::toy(int)\n";
      return result;
    }
    const auto has = [&](const char* word) { return std::ranges::find(argv, word) != argv.end(); };
    const bool compiles = argv.front() == "env";
    // The search for machine code reads what the preprocessor and the compiler give, and finds none
    // here.
    if (has("-E") || has("assembler")) {
      write_text(argv.back(), "");
      return result;
    }
    auto& turns = compiles ? compiler : linker;
    Does does;
    if (const auto found = turns.find(content); found != turns.end() && !found->second.empty()) {
      does = found->second.front();
      if (found->second.size() > 1) found->second.erase(found->second.begin());
    }
    commands.push_back((compiles ? "compile " : "link ") + content);
    result.exit_code = does.exit_code;
    result.output = does.says;
    result.timed_out = does.late;
    result.processor_s = does.processor_s;
    if (result.exit_code == 0) write_text(argv.back(), "");
    if (has("-S")) write_text(fs::path(argv.back()).replace_extension(".su"), "");
    return result;
  }

  StudentBuild build() {
    return build_player_fairly(
        places, exercise, "the file", player(),
        [&](const auto& argv, const auto&) { return run(argv); },
        [&](const std::string& put) { content = put; });
  }
  fs::path player() const { return scratch.path() / "player"; }

  test::Scratch scratch;
  Exercise exercise;
  Places places;
  std::string content;
  std::map<std::string, std::vector<Does>> compiler, linker;  // the last one is for ever
  std::vector<std::string> commands;
};

const std::string no_space =
    "work/06_x/toy.cpp:3:1: fatal error: error writing to /tmp/cc.s: No space left on device\n";
const std::string own_error = "work/06_x/toy.cpp:3:1: error: expected ‘;’ before ‘}’ token\n";
const std::string killed = "c++: fatal error: Killed signal terminated program cc1plus\n";
const std::string internal =
    "work/06_x/toy.cpp:3:1: internal compiler error: Segmentation fault\n"
    "PLEASE submit a bug report\n";

}  // namespace

TEST_CASE("blame: an error in the student's file is the student's, without a second look") {
  BuildBench bench;
  bench.compiler["the file"] = {{1, own_error}};
  const StudentBuild build = bench.build();
  CHECK(build.cause == "syntax");
  CHECK_THAT(build.message, test::contains("expected ‘;’"));
  CHECK(bench.commands == std::vector<std::string>{"compile the file"});
}

TEST_CASE("blame: where the stub cannot be built either, the lab failed") {
  for (const Does& does : {Does{1, no_space}, Does{1, killed}, Does{137, ""}, Does{1, internal},
                           Does{137, "", true}, Does{1, "bwrap: Can't create file\n"}}) {
    INFO(does.says << does.exit_code);
    BuildBench bench;
    bench.compiler["the file"] = bench.compiler["the stub"] = {does};
    CHECK_THROWS_AS(bench.build(), Error);
  }
  BuildBench bench;
  bench.linker["the file"] = bench.linker["the stub"] = {
      {1, "mold: fatal: failed to write to an output file. Disk full?\n"}};
  CHECK_THROWS_WITH(bench.build(), test::contains("the lab's own stub of toy cannot be built"));
}

TEST_CASE("blame: where the stub can be built, what the file does again is its own") {
  struct Case {
    Does does;
    std::string cause;
  };
  const std::vector<Case> cases{{{1, no_space}, "compiler_gave_up"},
                                {{1, killed}, "compiler_gave_up"},
                                {{4, internal}, "compiler_gave_up"},
                                {{137, "", true}, "compile_time"},
                                {{3, own_error}, "syntax"}};
  for (const Case& at : cases) {
    INFO(at.does.says << at.does.exit_code);
    BuildBench bench;
    bench.compiler["the file"] = {at.does};
    const StudentBuild build = bench.build();
    CHECK(build.cause == at.cause);
    CHECK_THAT(build.message, test::contains(shown));
    CHECK(bench.commands == std::vector<std::string>{"compile the file", "compile the stub",
                                                     "link the stub", "compile the file"});
  }
}

TEST_CASE("blame: an accident that has passed costs nothing") {
  BuildBench bench;
  bench.compiler["the file"] = {{1, no_space}, {}};
  CHECK(bench.build().cause.empty());
  CHECK(fs::exists(bench.player()));
  BuildBench linking;
  linking.linker["the file"] = {{1, "collect2: fatal error: ld terminated with signal 7\n"}, {}};
  CHECK(linking.build().cause.empty());
  CHECK(fs::exists(linking.player()));
}

TEST_CASE("blame: a compiler that used up its processor time was given too much to do") {
  BuildBench bench;
  bench.compiler["the file"] = {{1, killed, false, 19.5}};
  const StudentBuild build = bench.build();
  CHECK(build.cause == "compile_time");
  CHECK(build.message ==
        "compiling work/06_x/toy.cpp used up the 20 s of processor time that it "
        "may have");
  CHECK(bench.commands.size() == 1);
}

TEST_CASE("blame: the limit that is named is the one that held") {
  BuildBench bench;
  bench.compiler["the file"] = {{137, "", true}};
  CHECK(bench.build().message == "compiling work/06_x/toy.cpp took more than 60 s");
}

TEST_CASE("blame: a linker that names the student's object blames it") {
  BuildBench bench;
  bench.linker["the file"] = {
      {1,
       "/usr/bin/ld: player.o: in function `lockstep::toy(int)':\nundefined reference to `f()'\n"
       "collect2: error: ld returned 1 exit status\n"}};
  CHECK(bench.build().cause == "link");
  CHECK(bench.commands.size() == 2);
}

TEST_CASE("compiler texts: an error is in a file when it is led there") {
  CHECK(finds_errors_in(own_error, shown));
  CHECK(
      finds_errors_in("In file included from work/06_x/toy.cpp:1:\n"
                      "engine/x.hpp:7:1: error: far away\n",
                      shown));
  CHECK(
      finds_errors_in("work/06_x/toy.cpp:16:12:   required from here\n"
                      "/usr/include/c++/12/x:7:1: error: far away\n",
                      shown));
  CHECK_FALSE(finds_errors_in("engine/x.hpp:7:1: error: far away\n", shown));
  CHECK_FALSE(finds_errors_in("work/06_x/toy.cpp:3:1: warning: unused\n", shown));
  CHECK_FALSE(finds_errors_in(killed, shown));
  CHECK(gave_up(no_space));
  CHECK(gave_up(internal));
  CHECK_FALSE(gave_up(own_error));
}
