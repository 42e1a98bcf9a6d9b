#include "engine/base/dtype.hpp"

#include <type_traits>

namespace lockstep {
namespace {

template <typename T>
T smaller(T a, T b) {
  return (b < a || b != b) ? b : a;  // b != b: only a NaN differs from itself
}

template <typename T>
T larger(T a, T b) {
  return (b > a || b != b) ? b : a;
}

// Integers wrap: operands may come from a process that is not trusted, and signed overflow would be
// undefined here.
template <typename T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return static_cast<T>(a + b);  // of halves: a sum of floats, rounded once
  }
}

template <typename T>
T times(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return static_cast<T>(a * b);
  }
}

template <typename T, typename Combine>
void reduce_as(std::byte* accumulator, const std::byte* operand, std::int64_t count,
               Combine combine) {
  T* to = reinterpret_cast<T*>(accumulator);
  const T* from = reinterpret_cast<const T*>(operand);
  for (std::int64_t i = 0; i < count; ++i) to[i] = combine(to[i], from[i]);
}

}  // namespace

std::size_t bytes_of(DType dtype) {
  return visit_dtype(dtype, []<typename T>() { return sizeof(T); });
}

bool is_integer(DType dtype) {
  return visit_dtype(dtype, []<typename T>() { return std::is_integral_v<T>; });
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::int64:
      return "int64";
    case DType::int32:
      return "int32";
    case DType::int8:
      return "int8";
    case DType::uint8:
      return "uint8";
    case DType::bfloat16:
      return "bfloat16";
    case DType::float16:
      break;
  }
  return "float16";
}

std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::product:
      return "product";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
    case ReduceOp::average:
      break;
  }
  return "average";
}

void reduce_elements(DType dtype, ReduceOp op, std::byte* accumulator, const std::byte* operand,
                     std::int64_t count) {
  visit_dtype(dtype, [&]<typename T>() {
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::average:
        return reduce_as<T>(accumulator, operand, count, plus<T>);
      case ReduceOp::product:
        return reduce_as<T>(accumulator, operand, count, times<T>);
      case ReduceOp::min:
        return reduce_as<T>(accumulator, operand, count, smaller<T>);
      case ReduceOp::max:
        return reduce_as<T>(accumulator, operand, count, larger<T>);
    }
  });
}

}  // namespace lockstep
