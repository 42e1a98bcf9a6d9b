// How ranks that share nothing but a store learn each other's addresses. Each knows its number, the
// number of ranks, and the address of the store. No rank knows where the others listen, or whether
// they have started at all.
#pragma once

#include <vector>

#include "engine/base/error.hpp"
#include "engine/comm/endpoint.hpp"
#include "engine/comm/store.hpp"

namespace lockstep::comm {

// Some ranks did not arrive before the deadline.
struct RanksMissing : CommError {
  RanksMissing(std::vector<int> missing, int size, double timeout_s);
  std::vector<int> ranks;  // the missing ones, in ascending order
};

// Publishes this rank's address and returns those of all ranks. A part: defined in
// solutions/02_processes_and_ranks.
//   store      the group's own part of a store; a restarted group finds the keys of earlier
//              attempts there
//   mine       where this rank listens
//   attempt    the number of earlier starts of the group; equal on all ranks of one start
//   timeout_s  how long this rank waits for all others, from its call
//   Returns    [size] the address of rank 0, rank 1, …: the same vector on every rank
//   Ensures    no address of an earlier attempt; no rank returns before the last has published
//   Throws     RanksMissing, with all ranks that did not arrive within timeout_s; CommError when
//              the store is lost
//   Requires   0 <= rank < size
//   Comm       at most 2·size + 2 calls of the store per rank (from two ranks on), and no polling
std::vector<Endpoint> rendezvous(Store& store, int rank, int size, const Endpoint& mine,
                                 int attempt, double timeout_s);

}  // namespace lockstep::comm
