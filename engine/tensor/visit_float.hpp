// Dispatch over the element type of a tensor, once per operation. For the implementations of
// operations and update rules, which are written as: check, make the result, visit, charge. On a
// device without numbers (symbolic.hpp) nothing is visited, so that such an operation has its
// shapes, its memory and its price there as anywhere. A function that returns a number cannot be
// left out: there it is refused.
#pragma once

#include <type_traits>

#include "engine/tensor/tensor.hpp"

namespace lockstep {

// For operations whose result is a number, not a tensor.
inline void check_has_numbers(const char* operation, const Tensor& x) {
  LOCKSTEP_CHECK(x.device().has_numbers(), operation, ": its result is a number, and a tensor on ",
                 "the device '", x.device().name(), "' has none; leave the call out there");
}

// visit_float("relu", x, [&]<typename T>() { … }) with T float or double, the element type of x.
//   Returns  what the function returns, if anything
//   Throws   ContractError when x is of another type (on a device without numbers halves will do);
//            when the function returns a number and the device has none
template <typename Function>
auto visit_float(const char* operation, const Tensor& x, Function&& function) {
  const DType dtype = x.dtype();
  const bool half = !is_integer(dtype) && !x.device().has_numbers();  // nothing is computed there
  LOCKSTEP_CHECK(dtype == DType::float32 || dtype == DType::float64 || half, operation,
                 ": the elements are ", name_of(dtype),
                 "; this operation is defined for float32 and float64: convert with to()");
  if constexpr (std::is_void_v<decltype(function.template operator()<float>())>) {
    if (!x.device().has_numbers()) return;
  } else {
    check_has_numbers(operation, x);
  }
  if (dtype == DType::float32) return function.template operator()<float>();
  return function.template operator()<double>();
}

// The same over all dtypes, for functions that return nothing.
template <typename Function>
void visit_elements(const Tensor& x, Function&& function) {
  if (x.device().has_numbers()) visit_dtype(x.dtype(), function);
}

}  // namespace lockstep
