// What ptxas said of each kernel when it was built: registers and spills, for both processors. A
// spill is a register that lives in memory; a change that brings one is found here, without a GPU.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

namespace fs = std::filesystem;

struct BuiltKernel {
  std::string file, name, processor;
  int registers = 0, spilled_bytes = 0;
};

std::vector<BuiltKernel> built_kernels() {
  std::vector<BuiltKernel> all;
  const std::regex compiling("Compiling entry function '([^']+)' for '([^']+)'");
  const std::regex spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  const std::regex used("Used ([0-9]+) registers");
  for (const auto& entry : fs::recursive_directory_iterator(LOCKSTEP_CUDA_OBJECTS)) {
    if (entry.path().extension() != ".ptxas") continue;
    std::ifstream report(entry.path());
    std::smatch found;
    for (std::string line; std::getline(report, line);) {
      if (std::regex_search(line, found, compiling)) {
        all.push_back({entry.path().filename().string(), found[1], found[2]});
      } else if (!all.empty() && std::regex_search(line, found, spills)) {
        all.back().spilled_bytes = std::stoi(found[1]) + std::stoi(found[2]);
      } else if (!all.empty() && std::regex_search(line, found, used)) {
        all.back().registers = std::stoi(found[1]);
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("gpu: no kernel spills a register, on either processor") {
  std::map<std::string, int> of_processor;
  for (const BuiltKernel& kernel : built_kernels()) {
    CAPTURE(kernel.file, kernel.name, kernel.processor, kernel.registers);
    CHECK(kernel.spilled_bytes == 0);
    CHECK(kernel.registers > 0);
    ++of_processor[kernel.processor];
  }
  CHECK(of_processor["sm_80"] > 0);
  CHECK(of_processor["sm_80"] == of_processor["sm_90"]);
}
