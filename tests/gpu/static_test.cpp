// What ptxas said of each kernel when it was built: registers and spills, for both processors. A
// spill is a register that lives in memory; a change that brings one is found here, without a GPU.
// So is one that needs more registers than docs/gpu.md says: fewer threads then share a processor.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

struct BuiltKernel {
  std::string name, processor;
  int registers = 0, spilled_bytes = 0;
};

// "softmax_rows" of "void …::softmax_rows<float, 256>(…)", mangled.
std::string short_name(const std::string& mangled) {
  int status = 0;
  char* const whole = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? whole : mangled;
  std::free(whole);
  for (std::size_t at; (at = name.find("(anonymous namespace)::")) != std::string::npos;) {
    name.erase(at, 23);
  }
  name = name.substr(0, name.find_first_of("<("));
  const std::size_t before = name.find_last_of(" :");
  return before == std::string::npos ? name : name.substr(before + 1);
}

std::vector<BuiltKernel> built_kernels() {
  std::vector<BuiltKernel> all;
  const std::regex compiling("Compiling entry function '([^']+)' for '([^']+)'");
  const std::regex spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  const std::regex used("Used ([0-9]+) registers");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(LOCKSTEP_CUDA_OBJECTS)) {
    if (entry.path().extension() != ".ptxas") continue;
    std::ifstream report(entry.path());
    std::smatch found;
    for (std::string line; std::getline(report, line);) {
      if (std::regex_search(line, found, compiling)) {
        all.push_back({short_name(found[1]), found[2]});
      } else if (!all.empty() && std::regex_search(line, found, spills)) {
        all.back().spilled_bytes = std::stoi(found[1]) + std::stoi(found[2]);
      } else if (!all.empty() && std::regex_search(line, found, used)) {
        all.back().registers = std::stoi(found[1]);
      }
    }
  }
  return all;
}

// The rows "| `name` | registers | …" of the page.
std::map<std::string, int> registers_of_page() {
  std::map<std::string, int> rows;
  std::ifstream page(LOCKSTEP_GPU_PAGE);
  const std::regex row("^\\| `([a-z_]+)` \\| ([0-9]+) \\|");
  std::smatch found;
  for (std::string line; std::getline(page, line);) {
    if (std::regex_search(line, found, row)) rows[found[1]] = std::stoi(found[2]);
  }
  return rows;
}

}  // namespace

TEST_CASE("gpu: no kernel spills a register, on either processor") {
  std::map<std::string, int> of_processor;
  for (const BuiltKernel& kernel : built_kernels()) {
    CAPTURE(kernel.name, kernel.processor, kernel.registers);
    CHECK(kernel.spilled_bytes == 0);
    CHECK(kernel.registers > 0);
    ++of_processor[kernel.processor];
  }
  CHECK(of_processor["sm_80"] > 0);
  CHECK(of_processor["sm_80"] == of_processor["sm_90"]);
}

TEST_CASE("gpu: no kernel needs more registers than docs/gpu.md says, which lists them all") {
  constexpr int unit = 8;  // a processor gives registers out by eight a thread
  std::map<std::string, int> needed;
  for (const BuiltKernel& kernel : built_kernels()) {
    int& most = needed[kernel.name];
    most = std::max(most, (kernel.registers + unit - 1) / unit * unit);
  }
  const auto page = registers_of_page();
  std::string wrong;
  for (const auto& [name, registers] : needed) {
    const auto row = page.find(name);
    if (row != page.end() && row->second == registers) continue;
    wrong += "| `" + name + "` | " + std::to_string(registers) + " |\n";
  }
  for (const auto& [name, registers] : page) {
    if (!needed.contains(name)) wrong += "no kernel is called " + name + "\n";
  }
  INFO("rows of docs/gpu.md that should read so:\n" << wrong);
  CHECK(wrong.empty());
}
