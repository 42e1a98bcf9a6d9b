// Hierarchical all-reduce, for nodes whose ranks are joined by faster links than the nodes are:
// what leaves a node is reduced first, and every rank carries a share of it.
//   1. in the node      reduce-scatter: a rank ends with its shard, reduced over its node
//   2. between nodes    all-reduce of the shard, among the ranks that hold the same one
//   3. in the node      all-gather of the finished shards
//   k nodes of g ranks, N = k·g; shard i is elements [⌊i·D/g⌋, ⌊(i+1)·D/g⌋)
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Replaces data by its reduction over all ranks of all nodes.
//   in_node   the g ranks of this rank's node
//   across    the k ranks, one of each node, that have the same rank in their in_node group
//   data      [D], any dtype {partial: all N}; D may be 0, smaller than N, or divisible by
//             neither g nor k
//   op        sum, product, min or max
//   Requires  the same g, k, D, dtype and op on every rank
//   Ensures   the same bits on every rank; the order of summation depends on g, k and D only
//   Comm      a rank sends 2(k-1)/k·D/g elements to other nodes, and 2(g-1)/g·D within its own,
//             where shards may be padded to ⌈D/g⌉ elements and their k chunks to equal lengths;
//             2(g-1) + 2(k-1) steps
//   Throws    CommError when a peer is lost or the deadline passes
void hierarchical_all_reduce(comm::Peers& in_node, comm::Peers& across, Tensor data, ReduceOp op);

}  // namespace lockstep::collectives
