// The two ends of a computation that is spread over a tensor-parallel group. Before the first end,
// every rank has the same tensor; between the ends, a rank computes with its own weights; after the
// second, every rank has the same tensor again. Each end communicates in one direction only, and
// one is the other read backwards.
//   t ranks of the group; {partial: tp}: every rank has a term, and the tensor is their sum
//
//                     forward                          backward
//   f  enter_parallel   x, as it is                      all-reduce: each rank's gradient of x is
//                                                        that of its own share of the work
//   g  leave_parallel   all-reduce of the ranks' terms   the gradient, as it is
//
// Source: [SPP19] §3, figure 3; [MEGATRON]'s copy_to and reduce_from_tensor_model_parallel_region
#pragma once

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::tensor_parallel {

// Begins what the ranks of `group` compute in shares. A part: defined, together with
// leave_parallel, in solutions/12_tensor_parallel.
//   x         [...] of a floating type, the same on every rank
//   Returns   x, without a copy
//   Gradient  that of x is the sum over the ranks of the gradients {partial: tp} that arrive here,
//             the same bits on all ranks
//   Requires  every rank of the group records and walks back the same operations in the same order;
//             the group outlives the tape
//   Ensures   a gradient that arrives is not changed: another operation may have been given it too
//   Comm      forward none; backward one all-reduce of x's elements, 2(t-1)/t of them sent per
//             rank; none where nothing wants the gradient of x
//   Memory    backward, one copy of the gradient
//   Throws    CommError when a peer is lost or the ranks' tensors differ in size
//   Source    [SPP19] §3: f
Value enter_parallel(Tape& tape, comm::ProcessGroup& group, const Value& x);

// Ends it.
//   partial   [...] {partial: tp}, of a floating type
//   Returns   the sum over the ranks, the same bits on all of them; `partial` is not changed, since
//             others may read it
//   Gradient  that of `partial` is the one that arrives, without a copy
//   Comm      forward one all-reduce of partial's elements; backward none
//   Throws    CommError when a peer is lost or the ranks' tensors differ in size
//   Source    [SPP19] §3: g
Value leave_parallel(Tape& tape, comm::ProcessGroup& group, const Value& partial);

}  // namespace lockstep::tensor_parallel
