// What ptxas said of each kernel when it was built: registers, spills and shared memory, for both
// processors. A spill is a register that lives in memory; a change that brings one is found here,
// without a GPU. So is one that changes how many warps share a processor, which docs/gpu.md says.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "engine/gpu/explain/ptxas_report.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

struct BuiltKernel {
  gpu::BuiltKernel built;
  std::string name;
  int last_argument = 0;  // of the template: 256 of "softmax_rows<float, 256>"; 0 for no number
};

std::string demangled(const std::string& mangled) {
  int status = 0;
  char* const whole = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? whole : mangled;
  std::free(whole);
  for (std::size_t at; (at = name.find("(anonymous namespace)::")) != std::string::npos;) {
    name.erase(at, 23);
  }
  return name;
}

// "softmax_rows" of "void …::softmax_rows<float, 256>(…)".
std::string short_name(std::string name) {
  name = name.substr(0, name.find_first_of("<("));
  const std::size_t before = name.find_last_of(" :");
  return before == std::string::npos ? name : name.substr(before + 1);
}

int last_argument(const std::string& name) {
  std::smatch found;
  return std::regex_search(name, found, std::regex("^[^(]*, ([0-9]+)>\\(")) ? std::stoi(found[1])
                                                                            : 0;
}

std::vector<BuiltKernel> built_kernels() {
  std::vector<BuiltKernel> all;
  for (const gpu::BuiltKernel& built : gpu::read_ptxas_reports(LOCKSTEP_CUDA_OBJECTS)) {
    const std::string name = demangled(built.symbol);
    all.push_back({built, short_name(name), last_argument(name)});
  }
  return all;
}

// Threads of a block, as the kernel is launched.
int threads_of(const BuiltKernel& kernel) {
  static const std::map<std::string, int> own{
      {"add_linked_rows", 128},      {"causal_slope_rows", 128},
      {"causal_softmax_rows", 128},  {"clip", 1},
      {"dot_outputs", 128},          {"keep_first", 1},
      {"link_positions", 32},        {"merge_rows", 64},
      {"norm_backward_columns", 32}, {"norm_backward_groups", 32},
      {"sum_by_threads", 64},        {"sum_columns", 32}};
  if (const auto found = own.find(kernel.name); found != own.end()) return found->second;
  const bool of_quads = kernel.name == "attend" || kernel.name.starts_with("slope_of_");
  if (of_quads) return 4 * kernel.last_argument;
  const bool of_teams =
      kernel.name.find("_rows") != std::string::npos || kernel.name == "sum_by_teams";
  return of_teams && kernel.last_argument == 32 ? 128 : 256;
}

int resident_warps(const BuiltKernel& kernel) {
  return gpu::resident(kernel.built, threads_of(kernel), 0).warps;
}

// What a row of the page says of all variants of a kernel.
struct Row {
  int registers = 0;
  std::set<int> threads;
  std::map<std::string, int> warps;  // fewest, of a processor
};

std::string text_of(const std::string& name, const Row& row) {
  std::string threads;
  for (const int count : row.threads) {
    threads += (threads.empty() ? "" : ", ") + std::to_string(count);
  }
  return "| `" + name + "` | " + std::to_string(row.registers) + " | " + threads + " | " +
         std::to_string(row.warps.at("sm_80")) + " | " + std::to_string(row.warps.at("sm_90")) +
         " |";
}

// The page's rows "| `name` | …", whole.
std::map<std::string, std::string> rows_of_page() {
  std::map<std::string, std::string> rows;
  std::ifstream page(LOCKSTEP_GPU_PAGE);
  const std::regex row("^\\| `([a-z_]+)` \\| [0-9]+ \\|.*");
  std::smatch found;
  for (std::string line; std::getline(page, line);) {
    if (std::regex_search(line, found, row)) rows[found[1]] = line;
  }
  return rows;
}

}  // namespace

TEST_CASE("gpu: no kernel spills a register, on either processor", "[build]") {
  std::map<std::string, int> of_processor;
  for (const BuiltKernel& kernel : built_kernels()) {
    CAPTURE(kernel.name, kernel.built.processor, kernel.built.registers);
    CHECK(kernel.built.spilled_bytes == 0);
    CHECK(kernel.built.registers > 0);
    ++of_processor[kernel.built.processor];
  }
  CHECK(of_processor["sm_80"] > 0);
  CHECK(of_processor["sm_80"] == of_processor["sm_90"]);
}

TEST_CASE("gpu: registers and resident warps of each kernel are those of docs/gpu.md", "[build]") {
  std::map<std::string, Row> built;
  for (const BuiltKernel& kernel : built_kernels()) {
    Row& row = built[kernel.name];
    row.registers =
        std::max(row.registers, (kernel.built.registers + 7) / 8 * 8);  // given out by eight
    row.threads.insert(threads_of(kernel));
    const auto [at, first] = row.warps.try_emplace(kernel.built.processor, resident_warps(kernel));
    if (!first) at->second = std::min(at->second, resident_warps(kernel));
  }
  const auto page = rows_of_page();
  std::string wrong;
  for (const auto& [name, row] : built) {
    const auto found = page.find(name);
    if (found == page.end() || found->second != text_of(name, row)) {
      wrong += text_of(name, row) + "\n";
    }
  }
  for (const auto& [name, row] : page) {
    if (!built.contains(name)) wrong += "no kernel is called " + name + "\n";
  }
  INFO("rows of docs/gpu.md that should read so:\n" << wrong);
  CHECK(wrong.empty());
}
