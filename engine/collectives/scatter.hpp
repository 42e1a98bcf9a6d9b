// Scatter: the root deals blocks to the ranks.
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Rank r ends with elements [r·B, (r+1)·B) of the root's `all`.
//   all       [N·B] on the root, any dtype; empty on the others
//   mine      [B], same dtype; B may be 0
//   Requires  the same B, dtype and root on every rank, 0 <= root < N; the two do not overlap
//   Ensures   `all` is unchanged, also where the call throws
//   Comm      the root sends exactly (N-1)·B elements, each rank's block to it or on its way to it,
//             and nothing to itself
//   Throws    CommError when a peer is lost or the deadline passes
void scatter(comm::Peers& peers, const Tensor& all, Tensor mine, int root);

}  // namespace lockstep::collectives
