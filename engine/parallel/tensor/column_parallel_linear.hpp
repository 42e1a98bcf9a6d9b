// A linear layer whose outputs are spread over a tensor-parallel group: y = x·Wᵀ + b, of which a
// rank makes M/t columns. It needs the whole x, and nobody else's weights.
//   t ranks of the group, this one is r; K inputs, M outputs of the whole layer
//
//   forward    y_r = x·W_rᵀ + b_r           local
//   backward   dx  = Σ_r dy_r·W_r           one all-reduce: each rank's columns use all of x
//              dW_r = dy_rᵀ·x, db_r = Σ dy_r   local
//
// dW does not wait for the sum of dx, so that the all-reduce may run while dW is computed.
// Source: [SPP19] §3, figure 3a: A is split along its columns; the engine's weights are transposed
#pragma once

#include <cstdint>
#include <optional>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::tensor_parallel {

// The layer returns this rank's columns, for a row-parallel layer to go on with, or all of them.
enum class ColumnOutput : std::uint8_t { share, whole };

// A part: defined in solutions/12_tensor_parallel.
//   x         [..., K], the same on every rank
//   weight    [M/t, K], rows r·M/t … (r+1)·M/t of the layer's
//   bias      [M/t], the same rows; nothing: a layer without
//   Returns   [..., M/t]; of ColumnOutput::whole [..., M], rank 0's columns first
//   Gradient  of x, the whole layer's, the same bits on all ranks; of weight and bias, this rank's
//             rows of the whole layer's. With ColumnOutput::whole, every rank is given the same
//             gradient of y
//   Requires  every rank of the group records and walks back the same operations in the same order,
//             and has as many rows; the group outlives the tape
//   Comm      forward none, and one all-gather of y with ColumnOutput::whole; backward one
//             all-reduce of x's elements, none where nothing wants the gradient of x
//   Memory    kept for backward: x and weight, as of autograd::linear
//   Throws    ContractError when the shapes do not fit, before anything is sent; CommError when a
//             peer is lost
//   Source    [SPP19] §3; [MEGATRON]'s ColumnParallelLinear, `gather_output`
Value column_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                             const Value& weight, const std::optional<Value>& bias,
                             ColumnOutput output);

}  // namespace lockstep::tensor_parallel
