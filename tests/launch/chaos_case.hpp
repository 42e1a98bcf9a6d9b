// What one run of chaos is: what its ranks do, and which of them ends when and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::test {

struct End {
  const char* name;
  int signal;  // 0: exit(3)
  const char* said;
};

struct Case {
  int nodes = 1;
  int ranks = 2;  // of all nodes
  int victim = 0;
  const End* end = nullptr;
  double after_s = 0;  // from the start of the launcher on
  std::vector<std::string> program = {};
  std::string row = {};  // of the table, in which the run counts
};

// A loop of collectives.
Case draw_loop(int nodes, std::uint64_t seed, std::uint64_t run);
// bin/train in one of its ways, which come in turn.
Case draw_training(std::uint64_t seed, std::uint64_t run);

std::string text_of(const Case& drawn);

}  // namespace lockstep::test
