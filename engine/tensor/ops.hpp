// Operations on tensors, without gradients: what the autograd room composes. Each checks shapes
// and dtypes, charges the device, and returns new storage of kind `activations` unless it says
// otherwise. Floating-point operands of one call share one dtype.
// Shapes: B batch, I inputs, O outputs, C classes.
#pragma once

#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

enum class Transpose : std::uint8_t { no, yes };

// op(a) [M, K] · op(b) [K, N] → [M, N]. 2·M·N·K FLOPs.
Tensor matmul(const Tensor& a, Transpose transpose_a, const Tensor& b, Transpose transpose_b);

Tensor add_row(const Tensor& x, const Tensor& row);              // [B, O] + [O] → [B, O]
Tensor sum_rows(const Tensor& x);                                // [B, O] → [O]; rows in order
Tensor relu(const Tensor& x);                                    // max(x, 0)
Tensor relu_backward(const Tensor& grad, const Tensor& output);  // grad where output > 0, else 0
Tensor add(const Tensor& a, const Tensor& b);                    // same shape
Tensor multiply(const Tensor& a, const Tensor& b);               // same shape, elementwise

// Mean over the batch of -log softmax(logits)[label], stable under large logits.
//   logits [B, C], labels [B] int64 in [0, C). Returns the loss [1] and the softmax [B, C].
struct CrossEntropy {
  Tensor loss;
  Tensor probabilities;
};
CrossEntropy cross_entropy(const Tensor& logits, const Tensor& labels);
// d(mean loss)/d(logits) · grad  → [B, C]
Tensor cross_entropy_backward(double grad, const Tensor& probabilities, const Tensor& labels);

// Accumulated in float64: sixteen sums, the l-th of elements l, l + 16, l + 32, … in order; then
// the sixteen in order. The same bits on every processor.
double sum_of_squares(const Tensor& x);
std::int64_t count_correct(const Tensor& logits, const Tensor& labels);  // argmax == label

}  // namespace lockstep::ops
