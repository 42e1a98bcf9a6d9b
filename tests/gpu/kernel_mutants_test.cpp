// Would the tests notice a barrier less, a bound off by one, a mask with half the lanes? Each line
// of kernel_mutants.txt changes one instruction of one kernel, as nvcc made it, and names the case
// below that must then fail, with what it must say: a finding of paper, or another value.
//
// The cases are short, of float32, and hidden: they run in processes of their own, which paper's
// edit is told by the environment.
#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/gpu/programs.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

constexpr DType f32 = DType::float32;

void check_case(const Program& program, Units units = same_bits) {
  OnPaper paper;
  check_beside(paper, "", program, {units});
}

struct Mutant {
  std::string name, edit, sign;
};

// case | kernel~n~find~put | sign     A sign "survives: why" is of a change that nothing can tell.
std::vector<Mutant> mutants() {
  std::ifstream file(LOCKSTEP_KERNEL_MUTANTS);
  std::vector<Mutant> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto first = line.find(" | "), last = line.rfind(" | ");
    all.push_back(
        {line.substr(0, first), line.substr(first + 3, last - first - 3), line.substr(last + 3)});
  }
  return all;
}

struct Ran {
  int status = 0;
  std::string said;
};

// This program again, with one case and one edit.
Ran run_with(const Mutant& mutant) {
  const std::string command = text("PAPER_PTX_EDIT='", mutant.edit, "' PAPER_DEADLINE=20 ",
                                   "/proc/", getpid(), "/exe 'mutant: ", mutant.name, "' 2>&1");
  Ran ran;
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part;
  for (std::size_t n = 0; (n = fread(part.data(), 1, part.size(), pipe)) > 0;) {
    ran.said.append(part.data(), n);
  }
  ran.status = pclose(pipe);
  return ran;
}

void check_mutant(const Mutant& mutant) {
  INFO(mutant.name << ": " << mutant.edit);
  const Ran ran = run_with(mutant);
  INFO(ran.said.substr(0, 2000));
  CHECK_THAT(ran.said, !contains("ptx_edit"));  // it found its place
  if (mutant.sign.starts_with("survives")) {
    CHECK(ran.status == 0);
  } else {
    CHECK(ran.status != 0);
    CHECK_THAT(ran.said, contains(mutant.sign));
  }
}

}  // namespace

TEST_CASE("mutant: movement", "[.mutant]") {
  check_case([](Device& device) { return movements(f32, device); });
}
TEST_CASE("mutant: elements", "[.mutant]") {
  check_case([](Device& device) { return element_by_element(f32, device); });
}
TEST_CASE("mutant: squares", "[.mutant]") {
  check_case([](Device& device) { return global_norms(f32, device); });
}
TEST_CASE("mutant: updates", "[.mutant]") {
  check_case([](Device& device) { return updates(33, f32, device); });
}
TEST_CASE("mutant: gather", "[.mutant]") {
  check_case([](Device& device) { return rows_by_number(5, f32, device); });
}
TEST_CASE("mutant: activations", "[.mutant]") {
  check_case([](Device& device) { return activations(33, f32, device); }, {8, 2});
}
TEST_CASE("mutant: sums", "[.mutant]") {
  check_case([](Device& device) { return sums(f32, device); }, {8, 90});
}
TEST_CASE("mutant: losses", "[.mutant]") {
  check_case([](Device& device) { return losses(9, 33, f32, device); }, {16});
  check_case([](Device& device) { return losses(3, 1100, f32, device); }, {16});
}
TEST_CASE("mutant: norms", "[.mutant]") {
  check_case([](Device& device) { return norms(9, 33, f32, device); }, {16});
  check_case([](Device& device) { return norms(150, 5, f32, device); }, {16});
  check_case([](Device& device) { return norms(3, 1100, f32, device); }, {16});
}
TEST_CASE("mutant: attention", "[.mutant]") {
  check_case([](Device& device) { return attention({2, 37, 3, 4}, f32, device); }, {32});
}
TEST_CASE("mutant: checksum", "[.mutant]") {
  OnPaper paper;
  CpuDevice cpu;
  const Tensor here = noise({8300}, DType::uint8, cpu), there = to_device(here, paper.device());
  const std::vector<Tensor> near{here, here.narrow(3, 8203)}, away{there, there.narrow(3, 8203)};
  CHECK(checksums_of(away) == checksums_of(near));
  CHECK(paper.findings() == "");
}
TEST_CASE("mutant: faults", "[.mutant]") {
  OnPaper paper;
  Device& device = paper.device();
  const Tensor table = full({9, 2}, 1, f32, device);
  for (const auto& [place, index] :
       {std::pair{0, 9}, std::pair{299, -1}, std::pair{260, 1 << 30}}) {
    std::vector<double> indices(300, 8);
    indices[static_cast<std::size_t>(place)] = index;
    const Tensor rows = ops::embedding(table, integers(indices, device));
    CHECK_THROWS_WITH(to_host(rows), contains(text("index ", index, " ")));
  }
  CHECK_NOTHROW(to_host(ops::embedding(table, drawn_indices(300, 9, device))));
  const Tensor x = full({300}, 255, f32, device);
  CHECK_NOTHROW(to_host(x.to(DType::uint8)));
  x.narrow(200, 50).fill_(256);
  x.narrow(200, 1).fill_(-3);
  CHECK_THROWS_WITH(to_host(x.to(DType::uint8)), contains("-3 "));
  CHECK(paper.findings() == "");
}

// One of each kind here; all of them by: bin/test_gpu '[mutants]'
TEST_CASE("gpu: a kernel that lost a barrier, a bound or half a mask is found out") {
  std::vector<std::string> seen;
  for (const Mutant& mutant : mutants()) {
    const auto kind = mutant.edit.substr(mutant.edit.find('~', mutant.edit.find('~') + 1));
    if (std::ranges::find(seen, kind + mutant.sign) != seen.end()) continue;
    seen.push_back(kind + mutant.sign);
    check_mutant(mutant);
  }
  CHECK(seen.size() >= 3);
}

TEST_CASE("gpu: every mutant of kernel_mutants.txt dies of what it should", "[.all][mutants]") {
  for (const Mutant& mutant : mutants()) check_mutant(mutant);
}
