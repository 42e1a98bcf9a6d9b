// The order in which a pass over sharded units gathers their parameters ahead, runs the units and
// frees them. A plan is a list that every rank carries out from front to back:
//   gather u   starts the all-gather of u's parameters, and goes on at once
//   wait u     goes on when they are there
//   run u      computes the pass of u, which needs them
//   free u     gives their memory back
//   n units; L of them, at most, are alive at a time: from their gather to their free
//
// All collectives go through one queue, one after the other, in the order in which they were
// started. While a unit runs, the queue goes on: what was gathered ahead arrives meanwhile. Behind
// each backward pass, the executor also starts the reduce-scatter of the unit's gradients, so these
// are in the queue, too, and in no plan.
// Source: [ZGV23] §3.3.2 and §3.3.3, where a gather is issued before the pass that precedes its
// use; §3.4.2 bounds the gathers in flight
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::zero {

enum class Act : std::uint8_t {
  gather,   // start the all-gather of the unit's parameters
  wait,     // they are there
  run,      // the unit's pass
  free,     // they are no longer
  reduce,   // start the reduce-scatter of the unit's gradients
  reduced,  // this rank's shard of them is there, and the rest is freed
  fetch,    // start to copy this rank's shard of the parameters from the host
};

struct Action {
  Act act = Act::wait;
  int unit = 0;
  bool operator==(const Action&) const = default;
};
using Actions = std::vector<Action>;

// A forward pass, before which no unit is there: units 0, 1, … n-1.
//   units    n
//   limit    L; it may be more than n
//   Ensures  each unit is gathered once, in its turn, waited for, and run in its turn; at most L
//            units are alive at a time; every unit is freed behind its pass, but the last one,
//            which stays for its backward pass; no other such order is over sooner, whatever passes
//            and collectives take
//   Throws   ContractError for less than one unit, and for room for less than one
Actions forward_order(int units, int limit);

// The backward pass behind it, before which unit n-1 alone is there: units n-1, n-2, … 0.
//   units    n
//   limit    L, in which unit n-1 counts
//   Ensures  each unit is run in its turn, and all but unit n-1 are gathered once, in their turn,
//            and waited for; at most L units are alive at a time; every unit is freed behind its
//            pass; no other such order is over sooner, whatever passes and collectives take
//   Throws   as forward_order
Actions backward_order(int units, int limit);

}  // namespace lockstep::zero
