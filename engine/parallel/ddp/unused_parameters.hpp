// Parameters that a pass leaves unused: on some ranks, or on all of them.
//
// A reducer waits for every parameter's gradient. So a parameter that this rank does not use is
// handed to it when backward begins, with the grad that it has, or as zeros where it has none, and
// its bucket need not wait. Other ranks may have used it, and then it has a mean like any other.
// But what no rank used must not come out of the pass with a gradient of zeros: weight decay and
// momentum would move it. To tell the two apart, the ranks need one small all-reduce more, which
// travels while backward computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/parallel/ddp/reducer.hpp"

namespace lockstep::ddp {

// What a rank keeps from the beginning of such a pass to its end. `users` and `work` have whatever
// form tells which parameters some rank uses.
struct UnusedPass {
  std::vector<std::size_t> unused;  // parameters that this rank does not use
  std::vector<Tensor> kept;         // their grads before the pass; undefined where there was none
  Tensor users;
  comm::Work work;  // of the all-reduce of `users`
};

// Backward is about to begin.
//   used_here  by parameter: 1 if this rank's backward will bring it a gradient, else 0. Ranks may
//              differ, and so may passes
//   Ensures    the parameters that are not used here were handed to `reducer`; those that are used
//              will be, by backward
//   Comm       starts one all-reduce, of at most 8 bytes a parameter, before any bucket of the
//              pass. Waits for nothing
//   Requires   a parameter, and a device with numbers; the same parameters on every rank
UnusedPass begin_with_unused(comm::ProcessGroup& group, Reducer& reducer,
                             std::span<Parameter* const> parameters,
                             std::span<const std::uint8_t> used_here);

// Backward is over, and reducer.finalize() has returned.
//   Ensures  a parameter that some rank used has what the reducer made of it: the sum over the
//            ranks of their gradients times 1/N, on every rank. One that no rank used has the grad
//            that it had before the pass, bit for bit, or none
//   Throws   CommError
//   Source   [DDP20] §3.2.3; PyTorch's find_unused_parameters, whose bitmap the reducer sums
void end_with_unused(UnusedPass pass, std::span<Parameter* const> parameters);

}  // namespace lockstep::ddp
