// All-gather by a ring: every rank passes on what it has just received.
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Every rank ends with the blocks of all ranks, in the order of the ranks.
//   mine      [B], any dtype: this rank's block; B may be 0
//   all       [N·B], same dtype: elements [r·B, (r+1)·B) become rank r's block
//   Requires  the same B and dtype on every rank; `mine` and `all` do not overlap
//   Ensures   the same bits on every rank; `mine` is unchanged, also where the call throws
//   Comm      every rank sends exactly (N-1)·B elements; chains of at most N-1 messages
//   Throws    CommError when a peer is lost or the deadline passes
//   Source    [TRG05] §4
void all_gather(comm::Peers& peers, const Tensor& mine, Tensor all);

}  // namespace lockstep::collectives
