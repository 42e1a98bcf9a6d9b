// The mean over the group without compression: what the hooks that keep residuals do in the first
// pass.
#pragma once

#include "engine/comm/process_group.hpp"

namespace lockstep::compress {

// Begins the mean of `bucket` over the group: multiplies by 1/N, then sums, as DDP does without a
// hook, bit for bit.
//   Comm  one all-reduce of the bucket
comm::Work mean_reduce(comm::ProcessGroup& group, const Tensor& bucket);

}  // namespace lockstep::compress
