// The matrix product without a library, for float and double. Private to the kernel providers.
#pragma once

#include "engine/tensor/kernels.hpp"

namespace lockstep::kernels {

// As matmul of kernels.hpp. Every element of c is one sum over k in order, each product rounded
// before it is added: the same bits on every processor, and a row of c depends on its row of op(a)
// only, not on how many rows there are.
void portable_matmul(const Product& product, const float* a, const float* b, float* c);
void portable_matmul(const Product& product, const double* a, const double* b, double* c);

}  // namespace lockstep::kernels
