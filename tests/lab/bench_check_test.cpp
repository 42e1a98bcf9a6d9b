// ./lab bench check: that it says how far it is, and what it leaves when it is ended.
#include <nlohmann/json.hpp>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

TEST_CASE("bench check: when it is ended, what was measured is printed, and nothing stays behind") {
  const test::Scratch scratch;
  const std::string line =
      "mkdir temporary; TMPDIR=$PWD/temporary '" LOCKSTEP_TOOL
      "' bench-check naive_all_reduce ring_all_reduce --repeats 1 --json 2>said & "
      "until grep -qs 2/2 said; do sleep 0.01; done; kill -TERM $!; wait $!";
  const auto result = run_command({"sh", "-c", line}, scratch.path(), lockstep::test::patient);
  INFO(result.output);
  CHECK(result.exit_code == 1);
  const auto document = nlohmann::json::parse(result.output);
  CHECK(document.at("partial") == "interrupted by SIGTERM");
  REQUIRE(document.at("rows").size() == 1);
  CHECK(document.at("rows").at(0).at("case") == "naive_all_reduce");
  CHECK(fs::is_empty(scratch.path() / "temporary"));
  CHECK(read_text(scratch.path() / "said") ==
        "  [1/2] naive_all_reduce\n  [2/2] ring_all_reduce\n"
        "bench check: interrupted by SIGTERM after 1 of 2 exercises\n");
}
