// The one line that makes training data parallel.
#pragma once

#include <span>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::data_parallel {

// Replaces each gradient by its mean over the group.
//   parameters  the same list, in the same order, on every rank; their dtypes may differ
//   Ensures     grads are the mean over the group up to rounding, identical bit for bit on all
//               ranks. The engine's own multiplies by 1/N before it sums, because a sum of N large
//               gradients can overflow where their mean fits. What is not finite on one rank is not
//               finite in the mean. A parameter whose grad is undefined (on every rank) stays
//               without.
//   Comm        one all-reduce a tensor, or one over a flat copy of those of each dtype:
//               2(N-1)/N · bytes sent per rank
//   Throws      CommError when a peer is lost
//   Source      PyTorch's default path multiplies by 1/N before the sum (reducer.cpp), [DDP20] §3.2
void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters);

}  // namespace lockstep::data_parallel
