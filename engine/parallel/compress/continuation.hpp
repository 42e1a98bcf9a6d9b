// A continuation of a collective: the work that a hook does when its first messages have arrived.
// In PyTorch, this is Future.then.
//
// The hook returns without waiting, so its collective overlaps with backward. The continuation runs
// later, in the strand that waits. If it calls collectives, all ranks call them in the same order,
// because all of them wait for their buckets in the order of the plan.
#pragma once

#include <functional>

#include "engine/comm/process_group.hpp"

namespace lockstep::compress {

// A Work that waits for `first` and then calls `finish`.
//   group   measures how long `finish` takes; must outlive the Work
//   Throws  in wait(): what `first` throws, and then `finish` is not called; what `finish` throws
comm::Work then(comm::ProcessGroup& group, comm::Work first, std::function<void()> finish);

}  // namespace lockstep::compress
