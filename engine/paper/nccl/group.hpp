// ncclGroupStart and ncclGroupEnd: calls between the two of one thread become one operation for
// each communicator, and communicators that are made between them meet together.
#pragma once

#include <vector>

#include "engine/paper/nccl/comm.hpp"
#include "engine/paper/nccl/operation.hpp"

namespace lockstep::paper {

// Inside of a group: true, and its end waits for the communicator's other ranks.
bool arrive_at_group_end(ncclComm* comm);

// Checks the call, and puts it into the stream, or into the group.
ncclResult_t submit(const char* function, ncclComm_t comm, cudaStream_t stream, CommCall part);

}  // namespace lockstep::paper
