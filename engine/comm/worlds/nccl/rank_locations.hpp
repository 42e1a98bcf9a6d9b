// The host, process and GPU of each rank of a group.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/comm/worlds/nccl/watchdog.hpp"

namespace lockstep::comm {

struct RankLocation {
  std::uint64_t host, gpu;  // equal where the host is, or on one host the GPU
  std::int64_t process;
  std::int64_t first_rank;  // in the group of make_nccl_group
};

// Returns the locations of all ranks. Collective over `words`.
//   Throws  CommError where two ranks have one GPU; all come to the same sentence
std::vector<RankLocation> locations_of(ProcessGroup& words, std::uint64_t gpu, int first_rank);

// The other processes that are on the host of the rank `me`.
Watchdog::Processes processes_beside(int me, const std::vector<RankLocation>& locations);

}  // namespace lockstep::comm
