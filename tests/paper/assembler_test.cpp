// NVIDIA's assembler reads the conformance cases: what it refuses is no PTX, and paper must not
// know it. Built where there is a CUDA toolkit.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/paper/lanes/table.hpp"
#include "tests/catch.hpp"
#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

// What ptxas says of the cases, in a folder of the test's own; empty where it takes them all.
std::string said_of(const std::vector<Case>& cases) {
  const std::string text = "assembler_test.ptx", said = text + ".said";
  std::ofstream(text) << module_of(cases);
  const std::string command =
      std::string("'" PAPER_PTXAS "' -arch=sm_80 -o /dev/null ") + text + " > " + said + " 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream file(said);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  return status == 0 ? "" : words + "status " + std::to_string(status);
}

// Every n-th entry of the table.
std::string said_of_every(std::size_t n) {
  constexpr std::size_t together = 250;
  std::string said;
  std::vector<Case> some;
  std::size_t entries = 0;
  for (const auto& [opcode, entry] : table()) {
    if (entries++ % n != 0) continue;
    for (Case& made : cases_of(opcode)) some.push_back(std::move(made));
    if (some.size() < together) continue;
    said += said_of(some);
    some.clear();
  }
  return said + said_of(some);
}

TEST_CASE("paper: NVIDIA's assembler takes each hundredth entry of the table of PTX") {
  CHECK(said_of_every(101) == "");
}
TEST_CASE("paper: NVIDIA's assembler takes every entry of the table of PTX", "[.all]") {
  CHECK(said_of_every(1) == "");
}

}  // namespace
}  // namespace lockstep::paper::test
