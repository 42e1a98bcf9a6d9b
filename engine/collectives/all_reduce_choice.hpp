// Which all-reduce a group uses: the backend's own, or one of the parts, chosen by option.
#pragma once

#include <memory>
#include <string>

#include "engine/collectives/all_reduce.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::collectives {

// The one of all_reduce_names() that is meant; UsageError naming the nearest one otherwise.
AllReduce all_reduce_named(const std::string& name);

// Runs a part on all peers. Ranks 0 to ranks_per_node - 1 are on the first node, and so on; 0: all
// are on one.
//   Requires  not native; for hierarchical, ranks_per_node divides the ranks, or is not below them
void run_all_reduce(AllReduce algorithm, comm::Peers& peers, int ranks_per_node, const Tensor& data,
                    ReduceOp op);

// A group that behaves as `inner` but whose all_reduce runs the chosen part over inner's messages,
// under tags from 2^20 on. all_reduce_async runs it on a strand, one after the other, so that it
// overlaps with what the rank does until it waits.
//   inner, strands  must outlive it
//   ranks_per_node  for hierarchical, as in run_all_reduce. A group that is split off takes all its
//                   ranks for those of one node
//   Throws          UsageError where hierarchical needs nodes of equally many ranks, and has
//                   others
std::unique_ptr<comm::ProcessGroup> with_all_reduce(comm::ProcessGroup& inner, AllReduce algorithm,
                                                    Strands& strands, int ranks_per_node = 0);

}  // namespace lockstep::collectives
