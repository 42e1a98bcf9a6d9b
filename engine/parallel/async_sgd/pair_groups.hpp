// The groups of workers and servers: one for each pair, because a group that has lost a member is
// of no use, and a lost worker must not take the others with it.
//   W ranks, each a worker; the first K also serve
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::async_sgd {

// Rounds in which every two of `ranks` meet once, and no rank is in two pairs of a round: what a
// split can do at a time. partner[r], or nothing where a rank has none in this round.
using Round = std::vector<std::optional<int>>;
std::vector<Round> rounds_of_pairs(int ranks);

// The groups that one rank belongs to.
struct PairGroups {
  std::vector<std::unique_ptr<comm::ProcessGroup>> to_servers;  // K, where this rank is the worker
  std::vector<std::unique_ptr<comm::ProcessGroup>> to_workers;  // W where it serves, else none
};

// Every rank of the world calls it. In each group the server is rank 0 and the worker rank 1.
//   Requires  strands and world outlive the result
//   Comm      at most 2·W splits
//   Throws    ContractError unless 1 <= servers <= W; CommError
PairGroups connect(comm::ProcessGroup& world, int servers, Strands& strands);

}  // namespace lockstep::async_sgd
