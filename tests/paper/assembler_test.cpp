// NVIDIA's assembler reads the conformance cases: what it refuses is no PTX, and paper must not
// know it. Built where there is a CUDA toolkit.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/paper/lanes/table.hpp"
#include "engine/paper/ptx/module.hpp"
#include "tests/catch.hpp"
#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

// What ptxas says of the cases; empty where it takes them all.
std::string said_of(const std::vector<Case>& cases) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string text = folder / ("paper_assembler_" + std::to_string(::getpid()) + ".ptx");
  const std::string said = text + ".said";
  std::ofstream(text) << module_of(cases);
  const std::string command =
      "'" PAPER_PTXAS "' -arch=sm_80 -o /dev/null '" + text + "' > '" + said + "' 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream file(said);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(text);
  std::filesystem::remove(said);
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

// The PTX in an object stands between a line that begins with .version and a zero byte.
std::vector<std::string> texts_of(const std::filesystem::path& object) {
  std::ifstream file(object, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> texts;
  const std::string begin = "\n.version ";
  for (std::size_t at = bytes.find(begin); at != std::string::npos; at = bytes.find(begin, at + 1))
    texts.push_back(bytes.substr(at, bytes.find('\0', at) - at));
  return texts;
}

TEST_CASE("paper: every kernel of the GPU library is known to it") {
  std::size_t kernels = 0;
  std::string refused;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(LOCKSTEP_CUDA_OBJECTS)) {
    if (entry.path().extension() != ".o") continue;
    for (const std::string& text : texts_of(entry.path())) {
      const ptx::Module module = ptx::decode(text);
      if (!module.error.empty()) refused += module.error + "\n";
      for (const auto& [name, kernel] : module.kernels) {
        ++kernels;
        if (!kernel.refusal.empty()) refused += kernel.demangled + ": " + kernel.refusal + "\n";
      }
    }
  }
  CHECK(refused == "");
  CHECK(kernels > 100);
}

}  // namespace
}  // namespace lockstep::paper::test
