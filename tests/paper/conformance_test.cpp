// Conformance: every entry of the machine's table does what the PTX manual says, on corners and on
// any bits; and no entry is without a case.
#include <set>
#include <string>
#include <vector>

#include "engine/paper/lanes/table.hpp"
#include "tests/catch.hpp"
#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

// The cases of all entries whose opcode begins with one of these names.
std::vector<Case> cases_named(const std::set<std::string>& names) {
  std::vector<Case> all;
  for (const auto& [opcode, entry] : table()) {
    if (!names.contains(opcode.substr(0, opcode.find('.')))) continue;
    for (Case& made : cases_of(opcode)) all.push_back(std::move(made));
  }
  return all;
}

TEST_CASE("paper: no entry of the table of PTX is without a conformance case") {
  std::string without;
  for (const auto& [opcode, entry] : table()) {
    if (cases_of(opcode).empty()) without += opcode + "\n";
  }
  CHECK(without == "");
}

TEST_CASE("paper: whole numbers are computed as PTX says") {
  CHECK(run_cases(cases_named({"add", "addc", "sub", "subc", "mul", "mul24", "mad", "madc", "div",
                               "rem", "sad", "dp4a"})) == "");
}
TEST_CASE("paper: bits are moved and counted as PTX says") {
  CHECK(run_cases(cases_named({"and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "popc",
                               "clz", "brev", "bfi", "bfe", "bfind", "lop3", "prmt", "fns"})) ==
        "");
}
TEST_CASE("paper: floats are rounded as PTX says") {
  CHECK(run_cases(cases_named({"fma", "min", "max", "abs", "neg", "copysign", "rcp", "sqrt",
                               "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"})) == "");
}
TEST_CASE("paper: comparisons and choices are PTX's, with NaN too") {
  CHECK(run_cases(cases_named({"setp", "set", "testp", "selp", "slct", "mov", "cvta"})) == "");
}
TEST_CASE("paper: conversions are rounded and clipped as PTX says") {
  CHECK(run_cases(cases_named({"cvt"})) == "");
}
TEST_CASE("paper: loads and stores are PTX's in each space") {
  CHECK(run_cases(cases_named({"ld", "ldu", "st"})) == "");
}
TEST_CASE("paper: atomics are PTX's, alone and all at once") {
  CHECK(run_cases(cases_named({"atom", "red"})) == "");
}
TEST_CASE("paper: warps, branches, calls and barriers are PTX's") {
  CHECK(run_cases(
            cases_named({"shfl", "vote", "match", "redux", "activemask", "bar", "barrier", "bra",
                         "call", "ret", "exit", "trap", "membar", "fence", "nanosleep"})) == "");
}

}  // namespace
}  // namespace lockstep::paper::test
