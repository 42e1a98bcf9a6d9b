// Dispatch over the two types in which the CPU computes, once per kernel. Halves never come here:
// kernel_table.cpp converts them.
#pragma once

#include "engine/tensor/tensor.hpp"

namespace lockstep::kernels {

// visit_real(x, [&]<typename T>() { … }) with T float or double, the element type of x.
template <typename Function>
void visit_real(const Tensor& x, Function&& function) {
  if (x.dtype() == DType::float32) return function.template operator()<float>();
  LOCKSTEP_CHECK(x.dtype() == DType::float64, "a kernel that computes was given ",
                 name_of(x.dtype()), " elements");
  function.template operator()<double>();
}

// The last axis of x as columns, everything before it as rows.
struct Rows {
  std::int64_t count, width;
};
inline Rows rows_of(const Tensor& x) {
  const std::int64_t width = x.shape().back();
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < x.shape().size(); ++i) count *= x.shape()[i];
  return {count, width};
}

template <typename T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>().data() : nullptr;
}

}  // namespace lockstep::kernels
