// Tests beside PyTorch: they run programs with the one of ./lab dev torch. Continuous integration
// asks for it (LOCKSTEP_TWINS=required). Elsewhere a test without it says SKIPPED, which ctest
// counts as no pass (SKIP_REGULAR_EXPRESSION).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "grader/course/compile/command.hpp"
#include "tests/catch.hpp"
#include "tests/patience.hpp"

namespace lockstep::test {

inline std::filesystem::path torch_programs(const std::filesystem::path& root) {
  return root / "build/torch/bin";
}

// Continuous integration installs PyTorch; a student need not.
inline bool torch_is_there(const std::filesystem::path& root) {
  if (std::filesystem::exists(torch_programs(root) / "torchrun")) return true;
  const char* required = std::getenv("LOCKSTEP_TWINS");
  REQUIRE((required == nullptr || std::string(required) != "required"));
  std::cout << "SKIPPED: no PyTorch under build/torch; ./lab dev torch installs the newest\n";
  return false;
}

// Runs a program of PyTorch's folder, from the root of the repository.
//   variables  beside those of this process: "NAME=value"
inline grader::CommandResult run_with_torch(const std::filesystem::path& root,
                                            std::vector<std::string> words,
                                            const std::vector<std::string>& variables = {}) {
  words[0] = (torch_programs(root) / words[0]).string();
  words.insert(words.begin(), variables.begin(), variables.end());
  words.insert(words.begin(), {"env", "OMP_NUM_THREADS=1", "PYTHONWARNINGS=ignore"});
  return grader::run_command(words, root, patient);
}

}  // namespace lockstep::test
