// The first thing a distributed program does: from the variables that a launcher has set to a group
// of ranks that can talk to each other.
#pragma once

#include <memory>

#include "engine/launch/machine.hpp"
#include "engine/launch/node_layout.hpp"

namespace lockstep::launch {

// The resources of a program while it is distributed. They are closed when this ends: the group
// first, then the connection to the store, then the store itself.
struct Session {
  int rank = 0;
  int size = 1;
  int device = 0;  // LOCAL_RANK, on gloo too; with nccl the GPU of this machine that is its own
  Backend backend = Backend::gloo;
  std::unique_ptr<HostedStore> hosted;  // where this rank serves the store
  std::unique_ptr<comm::Store> store;
  std::unique_ptr<comm::ProcessGroup> group;
};

// Sets this process up. A part: defined in solutions/02_processes_and_ranks.
//   environment  the variables of this process:
//     RANK                        this rank, from 0 to WORLD_SIZE - 1
//     WORLD_SIZE                  how many ranks there are, at least 1
//     LOCAL_RANK                  its number on its machine, from 0 to WORLD_SIZE - 1: its device
//     MASTER_ADDR, MASTER_PORT    where rank 0 serves the store; a port is from 1 to 65535
//     LOCKSTEP_STORE              if it is there: "HOST:PORT" of a store that the launcher serves.
//                                 It is used then and no rank serves one. (MASTER_ADDR and
//                                 MASTER_PORT are there all the same, and need not be read)
//     TORCHELASTIC_RESTART_COUNT  how often the run was started before, 0 where it is missing. A
//                                 launcher's store may keep what those starts have written
//                numbers are plain decimal digits and nothing else
//   timeout_s    for all of it together, by machine.now_s()
//   Returns      a group of all ranks, behind its barrier(): when one rank has it, all are set up
//   Ensures      the backend is nccl if every rank has a GPU of its own (its machine has more than
//                LOCAL_RANK of them), otherwise gloo: the same on every rank;
//                nothing that was opened stays open when this throws
//   Throws       UsageError that names the variable which is missing or makes no sense;
//                comm::RanksMissing with the ranks that have not come when the time is up: where
//                rank 0 serves the store and nobody answers there, that is rank 0;
//                other CommErrors as the machine throws them: a launcher's store that does not
//                answer is no rank's fault; and when rank 0 gives up first, the store that it
//                serves is gone, and nobody can look any more who is missing
//   Comm         a number of calls of the store that grows with the ranks, not with the time
//   Source       [PyTorch] torch/distributed/rendezvous.py (env://), distributed_c10d.py
Session setup_distributed(const WorkerEnv& environment, Machine& machine, double timeout_s);

}  // namespace lockstep::launch
