// Normalising the last axis: R rows of C columns.
#pragma once

#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

// y = (x - mean) / √(variance + epsilon) · weight + bias over the last axis, biased variance.
//   x [..., C], weight [C], bias [C]. Source: [BKH16] eq. 4; epsilon inside the root as PyTorch.
// What the derivative needs beside x is kept: [R] each, of x's dtype, or float32 where x is halves.
struct Normalized {
  Tensor y;
  Tensor mean;               // undefined for rms_norm
  Tensor inverse_deviation;  // 1/√(variance + epsilon), or 1/√(mean square + epsilon)
};
Normalized layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon);

// y = x / √(mean of squares + epsilon) · weight. Source: [ZS19] eq. 4.
Normalized rms_norm(const Tensor& x, const Tensor& weight, double epsilon);

// y again from what was kept, bit for bit; pass an undefined bias for rms_norm.
Tensor normalize_again(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Tensor& mean, const Tensor& inverse_deviation);

// Gradients of x [..., C], weight [C] and bias [C] (undefined for rms_norm, whose mean is
// undefined).
struct NormGradients {
  Tensor x, weight, bias;
};
NormGradients norm_backward(const Tensor& grad, const Tensor& x, const Tensor& weight,
                            const Tensor& mean, const Tensor& inverse_deviation);

}  // namespace lockstep::ops
