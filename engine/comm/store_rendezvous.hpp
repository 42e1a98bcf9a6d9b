// How ranks that share nothing but a store learn each other's addresses. Each knows its number, how
// many there are, and where the store is; nobody knows where the others listen, or whether they
// have been started at all.
#pragma once

#include <vector>

#include "engine/base/error.hpp"
#include "engine/comm/endpoint.hpp"
#include "engine/comm/store.hpp"

namespace lockstep::comm {

// The deadline has passed and some ranks have not come.
struct RanksMissing : CommError {
  RanksMissing(std::vector<int> missing, int size, double timeout_s);
  std::vector<int> ranks;  // who is missing, in ascending order
};

// Publishes this rank's address and returns those of all ranks. A part: defined in
// solutions/02_processes_and_ranks.
//   store      the group's own part of a store; a restarted group finds there what the attempts
//              before it have left
//   mine       where this rank listens
//   attempt    how often the group was started before; equal on all ranks of one start
//   timeout_s  how long this rank waits for all others, from its call on
//   Returns    [size] the address of rank 0, rank 1, …: the same vector on every rank
//   Ensures    nothing of an earlier attempt is returned; no rank returns before the last has come
//   Throws     RanksMissing, with all that have not come when timeout_s is over; CommError when the
//              store is lost
//   Requires   0 <= rank < size
//   Comm       at most 2·size + 2 calls of the store a rank (from two ranks on), and none again and
//              again until something has happened
std::vector<Endpoint> rendezvous(Store& store, int rank, int size, const Endpoint& mine,
                                 int attempt, double timeout_s);

}  // namespace lockstep::comm
