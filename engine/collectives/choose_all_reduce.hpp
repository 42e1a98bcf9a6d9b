// Which all-reduce is the fastest: every algorithm is some steps of some bytes over some link, and
// a step of x bytes over a link takes
//   t(x) = latency + gap + x / bandwidth
// where the gap is what a message occupies its sender's port for, beside its bytes.
//
//   N ranks, g of them on each node, D bytes on every rank; P the largest power of two not above N
//   t within a node, and between nodes; `slow` is between, if there is more than one node
//
//   naive             N-1 steps of D                                        slow
//   ring              2(N-1) steps of D/N                                   slow
//   tree              levels apart = 1, 2, 4, … below N; each up and down a step of D, over the
//                     level's link. Going down, the topmost level costs no latency unless N is a
//                     power of two: the rank that finishes last hangs below a later message of the
//                     root, which leaves while the first one is still in flight
//   halving_doubling  levels apart = P/2, P/4, … 1; each back and forth a step of D·apart/P, over
//                     the level's link; and if P < N, 2 steps of D, slow
//   hierarchical      2(g-1) steps of D/g within, 2(N/g-1) steps of D/N between
//
// As if D could be cut into any number of parts, none of them empty.
//
// The link of a level is within where all ranks that are so far apart share a node: there is one
// node only, or 2·apart divides g.
#pragma once

#include <array>
#include <cstdint>

#include "engine/collectives/all_reduce.hpp"
#include "engine/sim/model/network.hpp"

namespace lockstep::collectives {

struct LinkCosts {
  sim::Link within, between;  // of two ranks of one node, of two nodes
};

struct Choice {
  AllReduce algorithm = AllReduce::naive;  // the fastest; of equals the first in this order:
  // Predicted of naive, ring, tree, halving_doubling, hierarchical.
  std::array<double, 5> seconds{};
};

// Predicts the time of each algorithm and picks the smallest.
//   bytes     of every rank's buffer
//   Requires  bytes > 0, and ranks_per_node divides ranks
//   Ensures   hierarchical takes infinitely long where there is one node only: it needs two levels
//   Source    [TRG05] §3, §4; the gap is LogGP's [AISS95]
Choice choose_all_reduce(const LinkCosts& links, int ranks, int ranks_per_node, std::int64_t bytes);

}  // namespace lockstep::collectives
