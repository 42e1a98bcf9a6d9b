// All-to-all: every rank has a block for every rank.
#pragma once

#include <cstdint>
#include <span>

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Block j of rank i becomes block i of rank j. Blocks lie one behind the other, in the order of the
// ranks, and may have any lengths.
//   in         [Σ to_each], any dtype
//   out        [Σ from_each], same dtype
//   to_each    [N] lengths of the blocks of `in`
//   from_each  [N] lengths of the blocks of `out`
//   Requires   rank i's to_each[j] is rank j's from_each[i]; `in` and `out` do not overlap
//   Ensures    `in` is unchanged, also where the call throws
//   Comm       every rank sends each block once, to its owner, and nothing to itself. With equal
//              lengths B it takes no longer than N-1 messages of B elements, one after the other
//   Throws     CommError when a peer is lost or the deadline passes
//   Source     [TRG05] §4
void all_to_all(comm::Peers& peers, const Tensor& in, Tensor out,
                std::span<const std::int64_t> to_each, std::span<const std::int64_t> from_each);

}  // namespace lockstep::collectives
