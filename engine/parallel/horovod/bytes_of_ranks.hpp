// Bytes of any length between the ranks of a group and one of them. Collectives need the same count
// on every rank, so a length travels first.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::horovod {

// On rank 0, the bytes of every rank, by rank; on other ranks, nothing.
//   Comm    a gather of 8 bytes per rank; then one message to rank 0 from each rank that has bytes
//   Throws  CommError
std::vector<Bytes> gather_bytes(comm::ProcessGroup& group, const Bytes& mine);

// The root's bytes, on every rank; what the other ranks pass is ignored.
//   Comm    a broadcast of 8 bytes, and one of the bytes
//   Throws  CommError
Bytes broadcast_bytes(comm::ProcessGroup& group, int root, Bytes of_root);

}  // namespace lockstep::horovod
