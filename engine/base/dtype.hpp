// Element types, reduction operators, and the one function that reduces raw elements. It stands
// at the bottom of the house because a tensor, a Gloo collective and the simulator's core must
// reduce in exactly the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep {

enum class DType : std::uint8_t { float32, float64, int64 };

// Averages are not here: they are a multiplication by 1/N before a sum (docs/design.md).
enum class ReduceOp : std::uint8_t { sum, product, min, max };

std::size_t bytes_of(DType dtype);      // bytes of one element
std::string_view name_of(DType dtype);  // "float32"
std::string_view name_of(ReduceOp op);  // "sum"

// accumulator[i] = accumulator[i] op operand[i] for `count` elements, in the elements' own type.
//   Requires  the two ranges are equal or do not overlap
//   Note      int64 wraps around; min and max propagate NaN: a NaN in either operand is the result
void reduce_elements(DType dtype, ReduceOp op, std::byte* accumulator, const std::byte* operand,
                     std::int64_t count);

// dtype → C++ type, for code that dispatches once: visit_dtype(d, [&]<typename T>() { … }).
template <typename Function>
decltype(auto) visit_dtype(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::float32:
      return function.template operator()<float>();
    case DType::float64:
      return function.template operator()<double>();
    case DType::int64:
      break;
  }
  return function.template operator()<std::int64_t>();
}

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::int64;
};

}  // namespace lockstep
