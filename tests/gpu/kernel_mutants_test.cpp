// Would the tests notice a barrier less, a bound off by one, a mask with half the lanes? Every such
// instruction of every kernel of float32 is changed (kernel_mutations.hpp), and a case that
// launches the kernel (kernel_cases.hpp) must then fail: by a finding of paper, or by another
// value. A barrier less must be a finding. What nothing can tell apart is listed in
// kernel_survivors.txt, with the reason.
//
// A case runs in a process of its own, which paper's edit is told by the environment: once with the
// grids that the kernels ask for, once with a single block, which walks through everything.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/random.hpp"
#include "tests/gpu/kernel_cases.hpp"
#include "tests/gpu/kernel_mutations.hpp"
#include "tests/gpu/run_again.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// The cases that launch each kernel.
using Users = std::map<std::string, std::vector<std::string>>;

Users users_of_kernels(const std::vector<KernelCase>& cases) {
  Users users;
  for (const KernelCase& each : cases) {
    OnPaper paper;
    auto before = counted_on_paper();
    each.check(paper);
    for (const auto& [kernel, now] : counted_on_paper()) {
      if (now.launches > before[kernel].launches) users[kernel].push_back(each.name);
    }
  }
  return users;
}

// Kernels of float32 that no case launches: nobody would see what is changed in them.
std::vector<std::string> not_launched(const Users& users) {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels_of_object()) {
    const std::string of = kernel.name.substr(kernel.name.find('<') + 1);
    const bool of_float32 = of.starts_with("float>") || of.starts_with("float, ");
    if (of_float32 && !users.contains(kernel.name)) names.push_back(kernel.name);
  }
  return names;
}

// Of heads of more than 32 numbers, which are the same source once more and take long.
bool is_of_wide_heads(const std::string& kernel) {
  return kernel.find("<float, 64, ") != std::string::npos ||
         kernel.find("<float, 128, ") != std::string::npos;
}

// "KERNEL KIND NUMBERS | why" as keys of mutations and reasons.
std::map<std::string, std::string> survivors() {
  std::map<std::string, std::string> all;
  std::ifstream file(LOCKSTEP_KERNEL_SURVIVORS);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t reason = line.find(" | "), numbers = line.rfind(' ', reason - 1);
    std::istringstream each(line.substr(numbers + 1, reason - numbers - 1));
    for (std::string number; std::getline(each, number, ',');) {
      all[line.substr(0, numbers + 1) + number] = line.substr(reason + 3);
    }
  }
  return all;
}

// This program again, with one case and one edit.
Ran run_with(const std::string& edit, const std::string& name) {
  return run_again(
      text("PAPER_PTX_EDIT='", edit, "' PAPER_DEADLINE=20 PAPER_INSTRUCTIONS=20000000"),
      text("mutant -c '", name, "'"));
}

// A case that fails by itself would tell of every change.
bool passes_unchanged(const std::string& name) {
  static std::map<std::string, bool> known;
  if (!known.contains(name)) known[name] = run_with("", name).status == 0;
  return known[name];
}

// What told: a finding of paper, another value, or nothing.
std::string told_by(const Mutation& mutation, const std::vector<std::string>& users) {
  for (const std::string& user : users) {
    CAPTURE(user);
    REQUIRE(passes_unchanged(user));
    const Ran ran = run_with(mutation.edit, user);
    INFO(mutation.key << ": " << mutation.instruction << "\n" << ran.said.substr(0, 2000));
    CHECK_THAT(ran.said, !contains("ptx_edit"));  // it found its place
    if (ran.status == 0) continue;
    return ran.said.find("paper.findings() == \"\"") != std::string::npos ? "finding" : "value";
  }
  return "nothing";
}

}  // namespace

TEST_CASE("mutant", "[.mutant][paper]") {
  for (const auto* cases : {&kernel_cases(), &cases_of_other_types()}) {
    for (const KernelCase& each : *cases) {
      SECTION(each.name) {
        for (const char* grid : {"grid_max=0", "grid_max=1"}) {
          OnPaper paper({grid});
          try {
            each.check(paper);
          } catch (const Error& error) {  // there may be a finding behind it
            FAIL_CHECK(error.what());
          }
          CHECK(paper.findings() == "");
        }
      }
    }
  }
}

// In a single block, so that each kernel's loops run.
TEST_CASE("gpu: kernels of the other types come to the CPU's results, in a grid of one block",
          "[paper]") {
  for (const KernelCase& each : cases_of_other_types()) {
    OnPaper paper({"grid_max=1"});
    each.check(paper);
  }
}

// One of each kind here, of kernels that have few; all of them by the case below.
TEST_CASE("gpu: a kernel that lost a barrier, a bound or half a mask is found out", "[paper]") {
  const auto users = users_of_kernels(kernel_cases());
  const auto spared = survivors();
  std::set<std::string> kinds;
  for (const Kernel& kernel : kernels_of_object()) {
    const auto used = users.find(kernel.name);
    if (used == users.end() || is_of_wide_heads(kernel.name)) continue;
    for (const Mutation& mutation : mutations_of(kernel)) {
      if (mutation.chooses_division || spared.contains(mutation.key)) continue;
      if (!kinds.insert(mutation.kind).second) continue;
      INFO(mutation.key << ": " << mutation.instruction << " (line " << mutation.line << ")");
      const std::string by = told_by(mutation, used->second);
      CHECK((by == "finding" || (by == "value" && mutation.kind != "barrier")));
    }
  }
  CHECK(kinds.size() == 7);
  CHECK(not_launched(users) == std::vector<std::string>{});
}

// Ten minutes or more, by: bin/test_gpu_kernels '[mutants]', or of one kernel with:
// -c 'attend<float, 32, 32>'. Prints, of each kernel: told by a finding, by a value, by nothing;
// and the compiler's choices of a division, which stay as they are.
TEST_CASE("gpu: every changed instruction is found out, or listed", "[.all][mutants][paper]") {
  static const auto users = users_of_kernels(kernel_cases());
  static const auto spared = survivors();
  static const auto kernels = kernels_of_object();
  static std::map<std::string, int> of_all;
  for (const Kernel& kernel : kernels) {
    const auto used = users.find(kernel.name);
    if (used == users.end()) continue;
    SECTION(kernel.name) {
      std::map<std::string, int> told;
      std::set<std::string> listed;
      for (const auto& [key, reason] : spared) {
        if (key.starts_with(kernel.name + " ")) listed.insert(key);
      }
      for (const Mutation& mutation : mutations_of(kernel)) {
        const std::string by =
            mutation.chooses_division ? "division" : told_by(mutation, used->second);
        ++told[by];
        ++of_all[by];
        INFO(mutation.key << " | line " << mutation.line << ": " << mutation.instruction);
        CHECK((by == "nothing") == (listed.erase(mutation.key) > 0));
        if (mutation.kind == "barrier") CHECK(by != "value");
      }
      CHECK(listed.empty());  // no such instruction
      std::printf("| `%s` | %d | %d | %d | %d |\n", kernel.name.c_str(), told["finding"],
                  told["value"], told["nothing"], told["division"]);
      std::fflush(stdout);
    }
  }
  SECTION("few survive") {  // the last one: all kernels' changes are counted
    const int tried = of_all["finding"] + of_all["value"] + of_all["nothing"];
    std::printf("| all | %d | %d | %d | %d |\n", of_all["finding"], of_all["value"],
                of_all["nothing"], of_all["division"]);
    CHECK(of_all["nothing"] <= 0.07 * tried);
  }
}

// A half is converted by one function of the source, of which nvcc puts copies into most kernels
// of halves. The cases of convert_each try it at the ends of its types.
bool is_copied_conversion(const Mutation& mutation) {
  return mutation.file.ends_with("/half.hpp") && !mutation.key.starts_with("convert_each<");
}

// Half a minute, by: bin/test_gpu_kernels '[sample]'. Prints what no comparison detects.
TEST_CASE("gpu: of a hundred changed instructions of the other types, few stay unnoticed",
          "[.all][sample][paper]") {
  const auto of_float32 = users_of_kernels(kernel_cases());
  const auto users = users_of_kernels(cases_of_other_types());
  std::vector<std::string> without_case;
  std::vector<std::pair<Mutation, const std::vector<std::string>*>> all;
  int copied = 0;
  for (const Kernel& kernel : kernels_of_object()) {
    if (of_float32.contains(kernel.name)) continue;
    const auto used = users.find(kernel.name);
    if (used == users.end()) {
      without_case.push_back(kernel.name);
      continue;
    }
    for (Mutation& mutation : mutations_of(kernel)) {
      if (mutation.chooses_division) continue;
      if (is_copied_conversion(mutation)) {
        ++copied;
      } else {
        all.emplace_back(std::move(mutation), &used->second);
      }
    }
  }
  CHECK(without_case == std::vector<std::string>{});
  constexpr std::size_t drawn = 100, seed = 1;
  std::map<std::string, int> told;
  const auto order = random_permutation(std::ssize(all), seed);
  for (std::size_t i = 0; i < drawn; ++i) {
    const auto& [mutation, cases] = all[static_cast<std::size_t>(order[i])];
    const std::string by = told_by(mutation, *cases);
    ++told[by];
    if (by != "nothing") continue;
    std::printf("%s | %s:%d: %s\n", mutation.key.c_str(), mutation.file.c_str(), mutation.line,
                mutation.instruction.c_str());
    std::fflush(stdout);
  }
  std::printf(
      "%zu changes, and %d of copied conversions; of %zu, told by a finding: %d, by a "
      "value: %d, by nothing: %d\n",
      all.size(), copied, drawn, told["finding"], told["value"], told["nothing"]);
  CHECK(told["nothing"] <= 10);
}
