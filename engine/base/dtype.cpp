#include "engine/base/dtype.hpp"

namespace lockstep {

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

}  // namespace lockstep
