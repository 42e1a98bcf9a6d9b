// Fills a timeline while a core runs: what strands compute and wait for, messages, collectives, and
// who waits when something is found. Internal to engine/sim; there is none unless it is asked for,
// so that a run which nobody looks at pays one comparison for it.
#pragma once

#include <string>
#include <vector>

#include "engine/sim/core/finding.hpp"
#include "engine/sim/core/operation.hpp"
#include "engine/trace/timeline.hpp"

namespace lockstep::sim {

class Recorder {
 public:
  Recorder(trace::Timeline& timeline, int ranks) : timeline_(timeline) { timeline.ranks = ranks; }

  // Op::compute; the request's name is the span's.
  void computed(Actor actor, const Request& request, double start_s);
  // A strand was blocked on an operation of its own, to `peer` (a global rank; -1: a collective).
  void waited(Actor actor, const Operation& operation, int peer, double start_s, double end_s);
  // … on a service, another strand, or in a monitor.
  void waited(Actor actor, const Request& request, double start_s, double end_s);
  void sent(const Operation& send, int src, int dst, double start_s, double arrived_s);
  void collective(const Operation& member, std::int64_t bytes, double start_s, double end_s);

  void found(const Finding& finding, std::vector<trace::Waiting> waiting);

 private:
  trace::Timeline& timeline_;
};

// The name of an operation in a picture: "recv from rank 3", "all_reduce", "strand 2 to end".
std::string words_of(const Request& request, int peer);

}  // namespace lockstep::sim
