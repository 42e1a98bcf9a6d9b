// The mean over the group without compression: what the hooks that keep residuals do in the first
// pass, and what a hook that only watches does in every pass.
#pragma once

#include <memory>

#include "engine/collectives/bucket.hpp"

namespace lockstep::compress {

// Begins the mean of `bucket` over the group: multiplies by 1/N, then sums, as DDP does without a
// hook, bit for bit.
//   Comm  one all-reduce of the bucket
comm::Work mean_reduce(comm::ProcessGroup& group, const Tensor& bucket);

// The same as a hook.
std::unique_ptr<collectives::CommHook> make_mean_hook();

}  // namespace lockstep::compress
