// The gradient's way under hybrid sharding: the ranks of a node share one copy of the state, and
// every node has a copy. What leaves a node is reduced first, and is this rank's shard alone.
//   1. in the node      reduce-scatter: a rank ends with its shard, reduced over its node
//   2. between nodes    all-reduce of the shard, among the ranks that hold the same one
//   k nodes of g ranks, N = k·g; shard i is elements [⌊i·D/g⌋, ⌊(i+1)·D/g⌋). Flat shards pad D to a
//   multiple of g, so theirs are of one size
//
// The parameters' way back is an all-gather in the node: no other node has to be asked.
// Source: FSDP's HYBRID_SHARD, [ZGV23] §3.2.2
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::zero {

// Leaves on each rank its shard of the reduction over all ranks of all nodes.
//   in_node   the g ranks of this rank's node; each has another shard, by its rank here
//   across    the k ranks, one of each node, that have the same shard
//   gradient  [D], any dtype {partial: all N}; D may be 0, smaller than N, or divisible by neither
//             g nor k
//   shard     [length of shard i], where i is this rank in in_node; same dtype
//   op        sum, product, min or max
//   Requires  the same g, k, D, dtype and op on every rank; `gradient` and `shard` do not overlap
//   Ensures   `gradient` is unchanged, also where the call throws; the same bits on all ranks that
//             have the same shard; the order of summation depends on g, k and D only
//   Comm      a rank sends 2(k-1)/k·D/g elements to other nodes, where the k chunks of a shard may
//             be padded to equal lengths, and (g-1)/g·D within its own; (g-1) + 2(k-1) steps
//   Throws    CommError when a peer is lost or the deadline passes
void reduce_hybrid(comm::Peers& in_node, comm::Peers& across, const Tensor& gradient, Tensor shard,
                   ReduceOp op);

}  // namespace lockstep::zero
