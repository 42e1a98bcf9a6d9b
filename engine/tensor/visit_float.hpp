// visit_dtype over the two floating-point types; integers are refused by name. For the
// implementations of operations and update rules.
#pragma once

#include "engine/tensor/tensor.hpp"

namespace lockstep {

// visit_float("relu", x, [&]<typename T>() { … }) with T the element type of x.
//   Throws  ContractError when x is int64
template <typename Function>
decltype(auto) visit_float(const char* operation, const Tensor& x, Function&& function) {
  LOCKSTEP_CHECK(x.dtype() != DType::int64, operation, ": the elements are int64; this operation ",
                 "is defined for float32 and float64");
  if (x.dtype() == DType::float32) return function.template operator()<float>();
  return function.template operator()<double>();
}

}  // namespace lockstep
