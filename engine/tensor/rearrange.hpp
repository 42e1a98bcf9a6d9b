// The same elements in another order, copied: tensors are contiguous, so only `view` and `narrow`
// of the first axis share storage.
#pragma once

#include <span>

#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

// Axes a and b exchanged, e.g. [B, T, H, D] with 1, 2 → [B, H, T, D].
Tensor transpose(const Tensor& x, std::int64_t axis_a, std::int64_t axis_b);

// Indices [start, start + length) of any axis; of every dtype.
Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length);
// The adjoint of narrow: x [… length …] placed into zeros [… size …].
Tensor widen(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t size);
// Parts that are equal in every axis but one, joined along it.
Tensor concatenate(std::span<const Tensor> parts, std::int64_t axis);

}  // namespace lockstep::ops
