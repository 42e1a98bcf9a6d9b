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

// Families of entries, by the first names of their opcodes.
using Names = std::set<std::string>;
const Names whole_numbers{"add", "addc", "sub", "subc", "mul", "mul24",
                          "mad", "madc", "div", "rem",  "sad", "dp4a"};
const Names bit_moves{"and", "or",   "xor", "not", "cnot",  "shl",  "shr",  "shf", "popc",
                      "clz", "brev", "bfi", "bfe", "bfind", "lop3", "prmt", "fns"};
const Names floats{"fma",  "min",   "max", "abs", "neg", "copysign", "rcp",
                   "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos",      "tanh"};
const Names choices{"setp", "set", "testp", "selp", "slct", "mov", "cvta"};
const Names conversions{"cvt"};
const Names accesses{"ld", "ldu", "st"};
const Names atomics{"atom", "red"};
const Names of_warps{"shfl", "vote", "match", "redux", "activemask", "bar",   "barrier",  "bra",
                     "call", "ret",  "exit",  "trap",  "membar",     "fence", "nanosleep"};

bool has(const Names& names, const std::string& opcode) {
  return names.contains(opcode.substr(0, opcode.find('.')));
}

std::vector<Case> cases_named(const Names& names) {
  std::vector<Case> all;
  for (const auto& [opcode, entry] : table()) {
    if (!has(names, opcode)) continue;
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

TEST_CASE("paper: each entry of the table is of one family, whose cases are run below") {
  for (const auto& [opcode, entry] : table()) {
    INFO(opcode);
    CHECK(has(whole_numbers, opcode) + has(bit_moves, opcode) + has(floats, opcode) +
              has(choices, opcode) + has(conversions, opcode) + has(accesses, opcode) +
              has(atomics, opcode) + has(of_warps, opcode) ==
          1);
  }
}

TEST_CASE("paper: whole numbers are computed as PTX says") {
  CHECK(run_cases(cases_named(whole_numbers)) == "");
}
TEST_CASE("paper: bits are moved and counted as PTX says") {
  CHECK(run_cases(cases_named(bit_moves)) == "");
}
TEST_CASE("paper: floats are rounded as PTX says") { CHECK(run_cases(cases_named(floats)) == ""); }
TEST_CASE("paper: comparisons and choices are PTX's, with NaN too") {
  CHECK(run_cases(cases_named(choices)) == "");
}
TEST_CASE("paper: conversions are rounded and clipped as PTX says") {
  CHECK(run_cases(cases_named(conversions)) == "");
}
TEST_CASE("paper: loads and stores are PTX's in each space") {
  CHECK(run_cases(cases_named(accesses)) == "");
}
TEST_CASE("paper: atomics are PTX's, alone and all at once") {
  CHECK(run_cases(cases_named(atomics)) == "");
}
TEST_CASE("paper: warps, branches, calls and barriers are PTX's") {
  CHECK(run_cases(cases_named(of_warps)) == "");
}

}  // namespace
}  // namespace lockstep::paper::test
