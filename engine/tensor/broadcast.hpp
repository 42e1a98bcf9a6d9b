// Sums, products and scalings of tensors whose shapes are equal or broadcast.
//
// Broadcasting is NumPy's: shapes are aligned at their last axes; an axis of size 1, or one that is
// missing, is repeated. [B, T, C] + [C], [B, T, C] · [B, 1, 1].
#pragma once

#include <span>

#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

// The shape two shapes broadcast to. Throws ContractError naming both when they do not.
Shape broadcast_shape(const Shape& a, const Shape& b);

Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor scale(const Tensor& x, double factor);

// The adjoint of broadcasting: x summed over the axes that were repeated, in index order; x itself,
// not a copy, when none was.
Tensor sum_to(const Tensor& x, const Shape& shape);

Tensor sum(const Tensor& x);  // all elements → [1]

// The sum of squares of all elements of all tensors, [1] float64. It is accumulated in float64,
// tensor by tensor; each in sixteen sums, the l-th of elements l, l + 16, l + 32, … in order; then
// the sixteen in order.
Tensor sum_of_squares(std::span<const Tensor> xs);

// The tensors that bound a global norm without the host's knowing it; [1] float64 both.
struct Clipping {
  Tensor norm;    // √squares
  Tensor factor;  // max_norm / (norm + 1e-6), where that is below 1 and the norm finite; else 1
};
Clipping clip_factor(const Tensor& squares, double max_norm);

// In place: x · factor, a number [1] float64 of the same device.
void scale_by_(const Tensor& x, const Tensor& factor);

}  // namespace lockstep::ops
