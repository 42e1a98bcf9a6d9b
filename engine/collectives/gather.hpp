// Gather: the root collects a block of every rank.
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Elements [r·B, (r+1)·B) of the root's `all` become what rank r brings.
//   mine      [B], any dtype; B may be 0
//   all       [N·B] on the root, same dtype; empty on the others
//   Requires  the same B, dtype and root on every rank, 0 <= root < N; the two do not overlap
//   Ensures   `mine` is unchanged, also where the call throws
//   Comm      the root receives exactly (N-1)·B elements, and sends nothing, not even to itself
//   Throws    CommError when a peer is lost or the deadline passes
void gather(comm::Peers& peers, const Tensor& mine, Tensor all, int root);

}  // namespace lockstep::collectives
