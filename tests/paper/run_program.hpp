// Runs a program of nvcc's with paper in front of NVIDIA's libraries.
#pragma once

#include <sys/wait.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace lockstep::test {

// Of a process with findings in strict mode, see engine/paper/cudart/report.hpp.
constexpr int exit_code_of_findings = 86;

struct Ran {
  int exit_code = -1;  // as the shell says it: 128 and the signal's number where one ended it
  std::string said;    // on both streams
};

// `settings` are words such as PAPER_DEVICES=2. A program that spins is ended after two minutes of
// processor time, one that hangs after twenty minutes.
inline Ran run_program(const std::string& program, const std::string& words, std::uint64_t seed,
                       const std::string& settings = "") {
  const std::string command =
      "ulimit -t 120; LD_LIBRARY_PATH=" PAPER_FOLDER " PAPER_STRICT=1 PAPER_SEED=" +
      std::to_string(seed) + " " + settings + " timeout 1200 " PROGRAMS_FOLDER "/" + program + " " +
      words + " 2>&1";
  Ran ran;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  for (int byte = std::fgetc(pipe); byte != EOF; byte = std::fgetc(pipe)) {
    ran.said += static_cast<char>(byte);
  }
  const int status = pclose(pipe);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

}  // namespace lockstep::test
