// The mean over all samples, when the ranks hold unequal numbers of them.
#pragma once

#include <span>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::data_parallel {

// One rank's loss, and the positions it sums over. A position is a sample, or a token of a text.
struct LossSum {
  double sum = 0;            // of the losses of the counted positions
  std::int64_t counted = 0;  // the number of these positions; 0 on a rank that has none
  std::int64_t padded = 0;   // positions that only pad rows: no loss, no gradient
};

// Turns each rank's sums into the group's means: of the loss, and of the gradients.
//   parameters  the same list, in the same order, on every rank; at least one. Each grad is the
//               gradient of mine.sum {partial: group}, so zeros where mine.counted is 0
//   Returns     Σ sum / Σ counted over the group, in float64, identical on all ranks; 0 when no
//               rank counted anything
//   Ensures     grads are the gradient of that mean up to rounding, identical bit for bit on all
//               ranks; they may be multiplied by 1 / Σ counted before they are summed, or after.
//               They stay zero when no rank counted anything. A parameter whose grad is undefined
//               (on every rank) stays without.
//   Comm        sum and count once: one all-reduce of 16 bytes, or one of 8 for each; then one per
//               tensor, or one over a flat copy: 2(N-1)/N · bytes sent per rank
//   Throws      CommError when a peer is lost
double weighted_average(comm::ProcessGroup& group, std::span<Parameter* const> parameters,
                        const LossSum& mine);

}  // namespace lockstep::data_parallel
