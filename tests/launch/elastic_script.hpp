// What one run of elastic-chaos is, which launcher comes and goes when; and what node 0's launcher
// says of its rounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::test {

struct Event {
  enum class Kind : std::uint8_t { come, kill, interrupt, kill_rank } kind;
  double at_s;
  int who;        // a launcher, or a rank
  int ranks = 0;  // of one that comes
};

struct Script {
  std::vector<Event> events;
  std::vector<std::string> save;  // how checkpoints are written
  bool loses_store = false;       // node 0's launcher is killed
};

// Of so many scripts, one kills the launcher of node 0.
Script draw_script(std::uint64_t seed, std::uint64_t number, int store_every);

// The number that stands behind these words; -1: they are not there.
int number_after(const std::string& text, const std::string& words);

// What node 0 says of one round.
struct Round {
  int number = 0, world = 0, restarts_left = 0;
  int start = -1;  // the step; -1: it did not come so far
  int trainers = 0;
  bool failed = false;  // a failure or a departure ended it
  bool came = false;    // an arrival did, or both
};

std::vector<Round> rounds_in(const std::string& seen);

}  // namespace lockstep::test
