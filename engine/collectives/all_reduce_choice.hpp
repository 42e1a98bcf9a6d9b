// Which all-reduce a group uses: the backend's own, or one of the parts, chosen by option.
#pragma once

#include <memory>
#include <string>

#include "engine/collectives/all_reduce.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::collectives {

// "native" or "ring"; UsageError naming the nearest one otherwise.
AllReduce all_reduce_named(const std::string& name);

// A group that behaves as `inner` but whose all_reduce runs the chosen part over inner's messages,
// under tags from 2^20 on. all_reduce_async runs it on a strand, one after the other, so that it
// overlaps with what the rank does until it waits.
//   inner, strands  must outlive it
std::unique_ptr<comm::ProcessGroup> with_all_reduce(comm::ProcessGroup& inner, AllReduce algorithm,
                                                    Strands& strands);

}  // namespace lockstep::collectives
