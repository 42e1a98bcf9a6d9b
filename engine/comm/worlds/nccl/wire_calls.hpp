// Which calls of NCCL a collective is, on one rank: a pure function, so that it is tested without a
// GPU. NCCL has five collectives; the others are groups of sends and receives, and an all_gather of
// unequal parts is one broadcast per rank.
//
//   broadcast, reduce, all_reduce, all_gather, reduce_scatter   NCCL's own
//   gather, scatter, all_to_all                                 sends and receives, one's own part
//   copied all_gather of unequal parts                                 a broadcast of each rank's
//   part barrier, and whatever is empty                              nothing
#pragma once

#include <vector>

#include "engine/comm/collective.hpp"
#include "engine/gpu/wires.hpp"

namespace lockstep::comm {

// In the order in which every rank has to make them.
std::vector<gpu::WireCall> wire_calls_of(const Collective& collective, int rank, int size);

}  // namespace lockstep::comm
