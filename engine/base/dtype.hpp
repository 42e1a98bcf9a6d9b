// Element types, reduction operators, and the function that reduces raw elements (reduce.cpp). It
// stands at the bottom of the house because a tensor, a Gloo collective and the simulator's core
// must reduce in exactly the same way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/half.hpp"

namespace lockstep {

// The order is part of every message and file that names a type: new ones go to the end.
enum class DType : std::uint8_t { float32, float64, int64, int32, int8, uint8, bfloat16, float16 };
inline constexpr std::array all_dtypes{DType::float32,  DType::float64, DType::int64,
                                       DType::int32,    DType::int8,    DType::uint8,
                                       DType::bfloat16, DType::float16};

// An average is a sum of operands that were multiplied by 1/N before (docs/design.md); whoever
// brings the operands multiplies, so to combine elements it is the same as sum.
enum class ReduceOp : std::uint8_t { sum, product, min, max, average };
inline constexpr std::array all_reduce_ops{ReduceOp::sum, ReduceOp::product, ReduceOp::min,
                                           ReduceOp::max, ReduceOp::average};

bool is_integer(DType dtype);           // no fractions: averages and scaling are refused
std::string_view name_of(DType dtype);  // "float32"
std::string_view name_of(ReduceOp op);  // "sum"

// accumulator[i] = accumulator[i] op operand[i] for `count` elements, in the elements' own type.
//   Requires  the two ranges are equal or do not overlap
//   Note      integers wrap around; halves are combined in float32 and rounded once, so a sum over
//             many operands rounds once an operand; min and max propagate NaN: a NaN in either
//             operand is the result
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
      return function.template operator()<std::int64_t>();
    case DType::int32:
      return function.template operator()<std::int32_t>();
    case DType::int8:
      return function.template operator()<std::int8_t>();
    case DType::uint8:
      return function.template operator()<std::uint8_t>();
    case DType::bfloat16:
      return function.template operator()<BFloat16>();
    case DType::float16:
      break;
  }
  return function.template operator()<Float16>();
}

// Bytes of one element.
inline std::size_t bytes_of(DType dtype) {
  return visit_dtype(dtype, []<typename T>() { return sizeof(T); });
}

// C++ type → dtype; DTypeOf<std::string> does not compile.
template <typename T>
struct DTypeOf;
template <DType dtype>
struct DTypeIs {
  static constexpr DType value = dtype;
};
template <>
struct DTypeOf<float> : DTypeIs<DType::float32> {};
template <>
struct DTypeOf<double> : DTypeIs<DType::float64> {};
template <>
struct DTypeOf<std::int64_t> : DTypeIs<DType::int64> {};
template <>
struct DTypeOf<std::int32_t> : DTypeIs<DType::int32> {};
template <>
struct DTypeOf<std::int8_t> : DTypeIs<DType::int8> {};
template <>
struct DTypeOf<std::uint8_t> : DTypeIs<DType::uint8> {};
template <>
struct DTypeOf<BFloat16> : DTypeIs<DType::bfloat16> {};
template <>
struct DTypeOf<Float16> : DTypeIs<DType::float16> {};

}  // namespace lockstep
