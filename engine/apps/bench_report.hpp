// Reports the rounds of the training benchmark: a table for people, JSON for programs.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "engine/apps/bench_process.hpp"

namespace lockstep::bench {

std::string fixed(double value, int digits);  // "-" for a figure that is not there

// All rounds of one model on one number of ranks; ours[i] and peer[i] are of the same round.
// Without a peer `peer` is empty.
struct Rounds {
  std::string model;
  int ranks = 1;
  std::vector<Sample> ours, peer;
  void add(const Rounds& more);  // of the same model and number of ranks
};

struct Machine {
  std::string processor;
  int cores = 0;
  int pinned_to_core = -1;  // -1: not pinned
  double load = 0;          // average of the last minute, before the first round
};
Machine this_machine();
// The first model name in a text like /proc/cpuinfo; empty when it gives none.
std::string processor_in(std::istream& about);

// A quantity of a model: medians over the rounds, and the ratio ours : peer, round by round.
struct Row {
  std::string model;
  int ranks;
  std::string quantity, unit;
  int digits;
  double ours = 0, peer = 0;  // a peer that does not say is NaN, and so are the ratios
  double ratio_median = 0, ratio_min = 0, ratio_max = 0;
};
std::vector<Row> rows_of(const Rounds& rounds);

// Empty when both sides trained the same, as far as losses tell before rounding has grown: the
// first losses and those at the end of the warm-up. Otherwise the sentence that says they did not;
// the ratios of this model on these ranks then compare different work.
std::string disagreement(const Rounds& rounds);

// Why some of what was asked for is not there; empty when all is.
struct Missing {
  std::string interrupted;          // "interrupted by SIGINT"
  std::vector<std::string> failed;  // a sentence for each model that could not be measured
  bool any() const { return !interrupted.empty() || !failed.empty(); }
};

// Each of `all` has a round at least.
std::string table(const std::vector<Rounds>& all, const Machine& machine, const Missing& missing);
Json report(const std::vector<Rounds>& all, const Machine& machine, const Missing& missing);

// Says it on standard error as well, which is seen when the output goes to a file.
void say(const Missing& missing, const std::string& program);
// The note at the head of a table, and in a JSON document, if something is missing.
std::string note_of(const Missing& missing);
void add_to(Json& document, const Missing& missing);

}  // namespace lockstep::bench
