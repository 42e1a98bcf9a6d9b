// Activation checkpointing: a segment of a model keeps only its input, and computes everything else
// a second time when backward reaches it. It trades time for memory: one more forward pass.
#pragma once

#include <functional>

#include "engine/autograd/tape.hpp"

namespace lockstep::autograd {

// A piece of a computation, from x to what it returns. It may use parameters (Tape::leaf).
using Segment = std::function<Value(Tape&, const Value&)>;

// segment(tape, x), without keeping what it computes on the way.
//   Ensures  the value is that of segment(tape, x), bit for bit, and so are all gradients, up to
//            the order in which the uses of a parameter inside and outside the segment are summed;
//            each parameter's hooks fire once. On a tape made for inference, the segment simply
//            runs
//   Cost     the segment's forward pass a second time, when backward reaches it, and no third time.
//            In a walk of two halves, both halves use that second run, and the work that its
//            operations postpone comes with the second half
//   Memory   the first run records nothing. From this call until the second run: x alone, a copy
//            of it, or what x is made from (Value::remake). The second run's activations are freed
//            when the walk has used them, and x with them
//   Requires the segment computes the same both times: it reads nothing that changes in between,
//            and its random numbers are counted, not drawn from a state (ops::DropoutMask). It is
//            kept until backward, so what it refers to must live until then
//   Source   [CXZ16] §3; PyTorch's torch.utils.checkpoint
Value recompute(Tape& tape, const Value& x, Segment segment);

}  // namespace lockstep::autograd
