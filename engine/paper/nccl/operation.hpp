// A communicator's operation in a stream: the calls of one group, or a single one, in steps that
// wait for no other rank.
//
//     first step   gives what this rank sends to the table, and says what it has called
//     later steps  look whether the others have come, and said the same; then read and write
//
// A rank's operations of one communicator follow each other, whatever streams they are in, as
// NVIDIA's do. Collectives of a group are carried out in order; its sends and receives all at once.
// A send is complete when it has been received: NVIDIA's may be earlier, if there is a buffer.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/paper/nccl/comm.hpp"
#include "engine/paper/order/library.hpp"

namespace lockstep::paper {

enum class CommCallKind : std::int32_t {
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  send,
  recv
};

struct CommCall {
  CommCallKind kind{};
  const char* function = "";
  std::uint64_t from = 0, to = 0;  // addresses; 0 where the call has none
  std::uint64_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int root = 0;              // or the peer of a send or receive
  ScaleFactor factor;        // of an operator that multiplies before
  std::uint64_t number = 0;  // of a collective
};

inline bool is_collective(const CommCall& part) { return part.kind < CommCallKind::send; }

std::unique_ptr<LibrarySteps> operation_of(ncclComm& comm, std::vector<CommCall> parts);

}  // namespace lockstep::paper
