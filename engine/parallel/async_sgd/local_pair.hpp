// The two ends of a connection within one rank: a rank that serves is a worker too, and cannot be
// two members of one group. What is sent is copied once, and counts as no traffic.
#pragma once

#include <memory>

#include "engine/comm/process_group.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::async_sgd {

struct LocalPair {
  std::unique_ptr<comm::ProcessGroup> server;  // rank 0
  std::unique_ptr<comm::ProcessGroup> worker;  // rank 1
};

// Messages only, of one tag; collectives throw ContractError. A send is over when it is received.
// Receives that were started are waited for in the order in which they were.
//   strands, clock  must outlive both ends; `clock` is asked for the time by either strand
//   Thread          one strand at each end
//   Throws          CommError in both when either gave up; there is no deadline, since both are of
//                   one rank
LocalPair make_local_pair(Strands& strands, const comm::ProcessGroup& clock);

}  // namespace lockstep::async_sgd
