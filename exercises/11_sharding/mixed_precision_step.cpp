// Task: take one step in mixed precision. Run backward with the scaled loss, average the gradients
// in 16 bits, and let all ranks decide together whether one of them is infinite or NaN. Then update
// the float32 masters and give their 16-bit copies to all ranks, or skip the step. In both cases,
// adjust the scale. The contract is in engine/parallel/zero/mixed_precision_step.hpp; the helpers
// unscale_ (which multiplies by its second argument, so give it 1 / scale), sum_of_squares and
// clip_factor are operations of engine/tensor/ops.hpp.
#include "engine/parallel/zero/mixed_precision_step.hpp"

#include <span>

#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::zero {

StepEnd mixed_precision_step(comm::ProcessGroup& group, MixedPrecision& state,
                             const ScaledBackward& backward, double max_norm) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)state, (void)backward, (void)max_norm;
  throw NotImplemented("mixed_precision_step");
  // <<< your code
}

}  // namespace lockstep::zero
