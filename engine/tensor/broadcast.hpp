// Sums, products and scalings of tensors whose shapes are equal or broadcast.
//
// Broadcasting is NumPy's: shapes are aligned at their last axes; an axis of size 1, or one that is
// missing, is repeated. [B, T, C] + [C], [B, T, C] · [B, 1, 1].
#pragma once

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

// Accumulated in float64: sixteen sums, the l-th of elements l, l + 16, l + 32, … in order; then
// the sixteen in order.
double sum_of_squares(const Tensor& x);

}  // namespace lockstep::ops
