// Faults that are injected into a simulated world, besides the program's own: ranks that die, links
// that are slow or cut, slow ranks, latencies that vary. A run with faults is as deterministic as
// one without: a function of program, faults and seed.
//
// The view of the other ranks. A rank that waits for a dead one is answered with Status::failed,
// its name and the reason, not before the moment of its death. A message or native collective that
// would not be over before one of its ranks dies does not take place; what a rank had posted before
// it died at a call still goes through. Over a cut link no message arrives, and both sides are
// told. A program that lives on after that has no finding; otherwise the finding begins with the
// fault.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/sim/model/network.hpp"

namespace lockstep::sim {

struct Faults {
  struct Kill {
    int rank = 0;
    double at_s = std::numeric_limits<double>::infinity();  // of virtual time
    std::int64_t at_call = 0;   // at its k-th operation or step, from 1; 0: at_s
    bool counts_calls = false;  // whatever the program counts
  };
  // A kill's k counts operations, or the steps that the program tells (Core::begins_step). It then
  // strikes at the first operation of the step.
  enum class Count : unsigned char { calls, steps };
  enum class Ends : unsigned char { ranks, nodes };
  struct BadLink {
    Ends ends = Ends::ranks;
    int a = 0, b = 0;   // both directions
    double slower = 1;  // messages take so many times as long; infinity: it is cut
  };
  struct Slow {
    int rank = 0;
    double slower = 1;  // its computing takes so many times as long
  };
  std::vector<Kill> kills;
  Count count = Count::calls;
  std::vector<BadLink> links;
  std::vector<Slow> slow;
  // Each latency is drawn between once and (1 + jitter) times its length.
  double jitter = 0;

  bool none() const { return kills.empty() && links.empty() && slow.empty() && jitter == 0; }
};

// One fault as the command line says it, added to others:
//   kill:3@0.01   kill:3@10ms   kill:3@step:5       rank 3 dies at that time, or at its fifth call
//                                                   (or step: Faults::Count); kill:3@call:5
//   link:0-1:slow:4   link:0-1:cut   link:node0-node1:cut
//   Throws UsageError, which says what is expected
void add_fault(Faults& faults, const std::string& words);
// "3:2.5": rank 3 computes 2.5 times as long.
void add_slow(Faults& faults, const std::string& words);

// Throws UsageError when there is no such rank or node, or a number makes no sense.
void check_faults(const Faults& faults, int ranks, const Network& network);

}  // namespace lockstep::sim
