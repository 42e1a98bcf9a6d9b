// The beginning and end of every operation: checks that speak one language, a result on its
// operands' device, and a charge. Between them, the operation calls its device's kernels. Private
// to the operations.
#pragma once

#include <utility>

#include "engine/tensor/kernels.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

inline void check_float(const char* operation, const Tensor& x) {
  LOCKSTEP_CHECK(!is_integer(x.dtype()), operation, ": the elements are ", name_of(x.dtype()),
                 "; this operation is defined for floating point: convert with to()");
}

// Kernels of a device that is away see its own memory only.
inline void check_together(const char* operation, const Tensor& a, const Tensor& b) {
  const Device &one = a.device(), &other = b.device();
  const bool away = one.numbers() == Numbers::away || other.numbers() == Numbers::away;
  LOCKSTEP_CHECK(!away || &one == &other, operation, ": one tensor is on '", one.name(),
                 "', another on '", other.name(), "'; bring both to one device with to_device");
}

inline void check_indices(const char* operation, const Tensor& x, const Tensor& indices) {
  check_together(operation, x, indices);
  LOCKSTEP_CHECK(indices.dtype() == DType::int64, operation, ": indices and labels are int64, not ",
                 name_of(indices.dtype()));
}

inline void check_same(const char* operation, const Tensor& a, const Tensor& b) {
  LOCKSTEP_CHECK(a.dtype() == b.dtype() && a.shape() == b.shape(), operation, ": ",
                 name_of(a.dtype()), " ", text_of(a.shape()), " and ", name_of(b.dtype()), " ",
                 text_of(b.shape()), " differ; both need one dtype and one shape");
  check_together(operation, a, b);
}

inline void check_matrix(const char* operation, const Tensor& x) {
  LOCKSTEP_CHECK(x.shape().size() == 2, operation, ": shape ", text_of(x.shape()),
                 " is no matrix; view it as [rows, columns]");
}

// A vector of `count` elements and of x's dtype, such as a bias.
inline void check_vector(const char* operation, const char* what, const Tensor& vector,
                         const Tensor& x, std::int64_t count) {
  LOCKSTEP_CHECK(vector.shape() == Shape{count} && vector.dtype() == x.dtype(), operation, ": ",
                 what, " is ", name_of(vector.dtype()), " ", text_of(vector.shape()), ", expected ",
                 name_of(x.dtype()), " [", count, "]");
  check_together(operation, x, vector);
}

// The last axis of x as columns, everything before it as rows.
struct RowShape {
  std::int64_t count, width;
};
inline RowShape rows_of(const char* operation, const Tensor& x) {
  LOCKSTEP_CHECK(!x.shape().empty(), operation, ": a tensor of shape [] has no last axis");
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < x.shape().size(); ++i) count *= x.shape()[i];
  return {count, x.shape().back()};
}

inline Tensor result(const Tensor& like, Shape shape) {
  return empty(std::move(shape), like.dtype(), like.device(), MemoryKind::activations);
}

// IndexRule::outside of labels (softmax.cpp), and of the rows of a table (gather.cpp).
[[noreturn]] void refuse_label(const char* operation, std::int64_t place, std::int64_t label,
                               std::int64_t classes);
[[noreturn]] void refuse_index(const char* operation, std::int64_t place, std::int64_t index,
                               std::int64_t rows);

// The dtype of a value that stands for a whole row or batch: it is not rounded to a half.
inline DType statistic_of(DType dtype) {
  const bool half = dtype == DType::bfloat16 || dtype == DType::float16;
  return half ? DType::float32 : dtype;
}
inline Tensor statistic(const Tensor& like, Shape shape) {
  return empty(std::move(shape), statistic_of(like.dtype()), like.device(),
               MemoryKind::activations);
}

// `flops` an element of x; `tensors_moved` tensors of x's size read or written.
inline void charge(const Tensor& x, double flops, double tensors_moved) {
  x.device().charge(flops * static_cast<double>(x.numel()),
                    tensors_moved * static_cast<double>(x.bytes()));
}

}  // namespace lockstep::ops
