// One step in mixed precision. Passes read and make numbers of 16 bits, which take half of the
// memory, wires and time. The update happens in float32, in the masters: a weight of 16 bits does
// not move by a ten-thousandth of itself, because the next number is 2^-10 (float16) or 2^-7
// (bfloat16) away. The masters are sharded: each rank has those of its own range of the model.
//   N ranks, this one is r; S elements of a range; [N·S] the model, flat and padded
//   (flat_shards.hpp)
//
// Gradients below 2^-24 are zero in float16. So the loss is multiplied by a scale, which backward
// carries into every gradient, and the masters' gradient is divided by it in float32:
// `ops::unscale_(gradients, 1 / scale)` multiplies by its second argument. A scale that is too
// large makes infinities. Only the owner of a range sees them, and one rank that left out its
// update would part the replicas for ever: whether to skip is one decision of all ranks. Source:
// [MIX17] §3; the rule of the scale is PyTorch's torch.amp.GradScaler
#pragma once

#include <cstdint>
#include <functional>

#include "engine/comm/process_group.hpp"
#include "engine/optim/optimizer.hpp"

namespace lockstep::zero {

// The factor of the loss, and since when it holds.
struct LossScale {
  float value = 65536;
  std::int64_t good_steps = 0;   // taken in a row since the value last changed
  std::int64_t interval = 2000;  // good steps in a row after which the value doubles
};

// A rank between steps.
struct MixedPrecision {
  Tensor parameters;                      // [N·S] float16 or bfloat16, the same on every rank
  Tensor gradients;                       // [N·S] of the same type; backward fills it
  Parameter* master = nullptr;            // its value: [S] float32, range r of the model
  optim::Optimizer* optimizer = nullptr;  // of the master alone
  LossScale scale{};
};

enum class StepEnd : std::uint8_t { taken, skipped };

// Forward and backward over this rank's samples, through `parameters`, with the loss multiplied by
// `scale`. Overwrites all of `gradients`; what they hold after the step is not specified.
using ScaledBackward = std::function<void(double scale)>;

// Takes one step, or skips it. A part: defined in solutions/11_sharding.
//   max_norm  bound on the norm of the model's mean gradient, over all ranges; <= 0: none
//   Does      runs `backward` once, with the scale's value
//   Returns   skipped, on every rank, when some element of the mean gradient is infinite or NaN on
//             any rank; else taken. The mean is that of ReduceOp::average: a rank's gradient is
//             multiplied by 1/N and rounded to 16 bits before the sum, so that the mean can be
//             finite where a sum of the ranks is not
//   Ensures   taken: each master was updated once by its optimizer, with range r of the ranks' mean
//             gradient in float32, divided by the scale, and then clipped to max_norm as
//             clip_global_norm does;
//             `parameters` are the masters of all ranks, each rounded once, in the same tensor;
//             skipped: masters, state of the optimizer and `parameters` have the bits they had;
//             a skipped step halves the scale's value, `interval` taken ones in a row double it,
//             and good_steps begins again at 0 with each change
//   Comm      gradients and parameters travel in 16 bits: a reduce-scatter and an all-gather, or
//             2·2(N-1)·S bytes sent per rank; a skipped step has no all-gather. Besides, at most
//             two numbers are reduced
//   Throws    CommError when a peer is lost; no master moves unless all ranks agreed to step
StepEnd mixed_precision_step(comm::ProcessGroup& group, MixedPrecision& state,
                             const ScaledBackward& backward, double max_norm);

}  // namespace lockstep::zero
