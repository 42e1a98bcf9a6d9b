// Products of matrices, and the bias that follows them.
#pragma once

#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

enum class Transpose : std::uint8_t { no, yes };

// op(a) [M, K] · op(b) [K, N] → [M, N]. 2·M·N·K FLOPs.
//   into  written and returned, [M, N] and neither a nor b; undefined: a new tensor
Tensor matmul(const Tensor& a, Transpose transpose_a, const Tensor& b, Transpose transpose_b,
              const Tensor& into = {});

// x [..., I] · weightᵀ, weight [O, I] → [..., O]
Tensor linear(const Tensor& x, const Tensor& weight);

// In place: row [O] is added to every row of x [..., O].
void add_row_(const Tensor& x, const Tensor& row);
// [..., O] → [O]; rows in order, each column a sum of its own
Tensor sum_rows(const Tensor& x);

}  // namespace lockstep::ops
