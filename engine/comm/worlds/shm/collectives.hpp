// Collectives in shared memory. A call has one round that all of them need:
//
//   a. A rank writes what it calls (agreement), copies data of up to `inline_bytes` into its inline
//      slot, or the first piece of larger data into a slot, and publishes its phase: it has
//      arrived.
//   b. When all have arrived they compare what they call, and read.
//
// Data that lie in an arena (allocate_buffer) are never copied: peers read and write them there. So
// when a call fails on a rank, its blocks stay until all have left, and its peers' calls fail, too.
// Others that are too large for the inline slot go through the slots piece by piece; the ranks keep
// in step by one phase a piece.
//
// A reduction is divided: rank c owns part c of the elements, reads it from all ranks and writes
// the result for all. Order of summation: rank 0, 1, 2, …; every rank gets the owner's bits. Small
// data are reduced by every rank itself, in the same order, which gives the same bits. An average
// multiplies each element while it is read.
//
// Cost, S bytes at each of N ranks: an all_reduce moves 2·N·S bytes of memory when all tensors are
// the group's own, and besides that 2·(N−1)/N·S per rank through cache when they are not.
#pragma once

#include <vector>

#include "engine/comm/collective.hpp"
#include "engine/comm/worlds/shm/agreement.hpp"
#include "engine/comm/worlds/shm/membership.hpp"

namespace lockstep::comm::shm {

// The ranks call different things: not Lost, since everybody is there.
struct Disagreement {
  std::string what;
};

class Round;

// The collectives of one group, one after the other, numbered from 1.
//   Thread  one call at a time
class Collectives {
 public:
  explicit Collectives(Membership& membership) : membership_(membership) {}

  // Throws Lost or Disagreement; the group cannot go on then.
  void run(const Call& call, Manner manner);

  // The phase that ranks publish when they arrive at the call that comes next or runs.
  std::uint64_t arrival() const { return arrival_; }

 private:
  friend class Round;

  Membership& membership_;
  // Equal on all ranks between two calls, since they agree on the calls.
  std::uint64_t phase_ = phases_to_meet;  // published so far
  std::uint64_t piece_ = 0;               // pieces that went through the slots
  std::uint64_t arrival_ = phases_to_meet + 1;
};

}  // namespace lockstep::comm::shm
