// This program in a process of its own: paper is told by the environment, as by a user.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

#include "engine/base/text.hpp"
#include "tests/catch.hpp"

namespace lockstep::test {

struct Ran {
  int status = 0;
  std::string said;  // on both streams
};

//   settings  words such as PAPER_SEED=2
//   words     which of the program's tests, and with what
inline Ran run_again(const std::string& settings, const std::string& words) {
  const std::string command = text(settings, " /proc/", getpid(), "/exe ", words, " 2>&1");
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

}  // namespace lockstep::test
