#include "grader/course/compile/thrown_line.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

TEST_CASE("the line of a throw: the innermost call in the student's file, however it is named") {
  const std::string mine = "work/06_all_reduce/ring_all_reduce.cpp";
  CHECK(first_line_in("/lab/engine/base/error.cpp:14\n??:0\n/lab/" + mine +
                          ":21 (discriminator 2)\n/lab/" + mine + ":40\n",
                      mine) == mine + ":21");
  CHECK(first_line_in(mine + ":7\n", mine) == mine + ":7");
  CHECK_FALSE(first_line_in("/lab/" + mine + ":0\n/lab/" + mine + ":?\n", mine));
  CHECK_FALSE(first_line_in("/lab/home" + mine + ":3\n/lab/engine/x.cpp:3\n", mine));
}

TEST_CASE("the line of a throw: addr2line is asked for the byte before each return address") {
  std::vector<std::string> asked;
  const BuildTool tool = [&](const std::vector<std::string>& argv, const auto&) {
    asked = argv;
    CommandResult result;
    result.exit_code = 0;
    result.output = "/lab/work/x.cpp:5\n";
    return result;
  };
  const std::vector<std::uint64_t> calls{0x401200, 0x401300};
  CHECK(line_of_throw("player", "work/x.cpp", calls, tool) == "work/x.cpp:5");
  CHECK(asked ==
        std::vector<std::string>{"addr2line", "-i", "-e", "player", "0x4011ff", "0x4012ff"});
  CHECK_FALSE(line_of_throw("player", "work/x.cpp", {}, tool));
}
