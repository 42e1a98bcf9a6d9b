// Parameters that a pass leaves unused: on some ranks, or on all of them.
//
// A reducer waits for every parameter's gradient. So when backward begins, the rank hands the
// reducer each parameter that it does not use, with its grad, or as zeros if it has none. Then no
// bucket waits for it. If another rank used the parameter, it has a mean like any other. If no rank
// did, it must not end the pass with a gradient of zeros: weight decay and momentum would move it.
// To tell the two cases apart, the ranks need one more small all-reduce, which travels while
// backward computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/parallel/ddp/reducer.hpp"

namespace lockstep::ddp {

// The state that a rank keeps from the beginning of such a pass to its end. The form of `users` is
// free, as long as it tells which parameters some rank uses, on any number of ranks.
struct UnusedPass {
  std::vector<std::size_t> unused;  // parameters that this rank does not use
  std::vector<Tensor> kept;         // their grads before the pass; undefined where there was none
  Tensor users;
  comm::Work work;  // of the all-reduce of `users`
};

// Backward is about to begin.
//   used_here  by parameter: 1 if this rank's backward will bring it a gradient, else 0. Ranks may
//              differ, and so may passes
//   Ensures    the parameters that are not used here were handed to `reducer`; backward will hand
//              over those that are used
//   Comm       starts one all-reduce, of at most 8 bytes per parameter, before any bucket of the
//              pass. Waits for nothing
//   Requires   at least one parameter, on a device with numbers; the same parameters on every rank
UnusedPass begin_with_unused(comm::ProcessGroup& group, Reducer& reducer,
                             std::span<Parameter* const> parameters,
                             std::span<const std::uint8_t> used_here);

// Backward is over, and reducer.finalize() has returned.
//   Ensures  a parameter that some rank used has what the reducer made of it: the sum over the
//            ranks of their gradients times 1/N, on every rank. A parameter that no rank used has
//            the grad from before the pass, bit for bit, or none
//   Throws   CommError
//   Source   [DDP20] §3.2.3; PyTorch's find_unused_parameters, whose bitmap the reducer sums
void end_with_unused(UnusedPass pass, std::span<Parameter* const> parameters);

}  // namespace lockstep::ddp
