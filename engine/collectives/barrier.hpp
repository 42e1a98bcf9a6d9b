// Barrier by dissemination: in step i every rank tells the rank 2^i to its right that it has
// entered, and so has every rank that it has heard of.
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// No rank returns before every rank has called. It knows this by what it received: that a send
// returned says nothing of its receiver (engine/comm/peers.hpp).
//   token    [1], any dtype: something to send, because an empty tensor sends no message; its value
//            means nothing
//   Comm     ⌈log₂N⌉ steps; a rank sends and receives one token in each. A barrier of another shape
//            is right too, if no chain of messages and no rank's sends or receives are more than
//            2⌈log₂N⌉
//   Ensures  `token` is unchanged, also where the call throws
//   Throws   CommError when a peer is lost or the deadline passes
//   Source   [HFM88]
void barrier(comm::Peers& peers, const Tensor& token);

}  // namespace lockstep::collectives
