// A linear layer whose inputs are spread over a tensor-parallel group: y = x·Wᵀ + b is a sum over
// K, of which a rank adds up the K/t terms that it has. It takes what a column-parallel layer
// leaves, so that a pair of the two has one all-reduce each way and nothing between.
//   t ranks of the group, this one is r; K inputs of the whole layer, M outputs
//
//   forward    y = Σ_r x_r·W_rᵀ + b             one all-reduce, then the bias, once
//   backward   dx_r = dy·W_r, dW_r = dyᵀ·x_r     local
//              db = Σ dy                         local, the same on every rank
//
// Source: [SPP19] §3, figure 3a: B is split along its rows; the engine's weights are transposed
#pragma once

#include <optional>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::tensor_parallel {

// A part: defined in solutions/12_tensor_parallel.
//   x         [..., K/t], columns r·K/t … (r+1)·K/t of the layer's input
//   weight    [M, K/t], the same columns of the layer's weight
//   bias      [M], whole and the same on every rank; nothing: a layer without
//   Returns   [..., M], the same bits on all ranks
//   Gradient  of x and weight, this rank's columns of the whole layer's; of bias, the whole, the
//             same on all ranks
//   Requires  every rank of the group records and walks back the same operations in the same order;
//             the gradient of y is the same on every rank; the group outlives the tape
//   Comm      forward one all-reduce of y's elements, 2(t-1)/t of them sent per rank; backward none
//   Memory    kept for backward: x and weight, as of autograd::linear
//   Throws    ContractError when the shapes do not fit, before anything is sent; CommError when a
//             peer is lost
//   Source    [SPP19] §3; [MEGATRON]'s RowParallelLinear, `input_is_parallel`
Value row_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                          const Value& weight, const std::optional<Value>& bias);

}  // namespace lockstep::tensor_parallel
