// What every operation begins and ends with: checks that speak one language, a result beside its
// operands, a charge. Private to the operations.
#pragma once

#include <utility>

#include "engine/tensor/tensor.hpp"
#include "engine/tensor/visit_float.hpp"

namespace lockstep::ops {

inline void check_same(const char* operation, const Tensor& a, const Tensor& b) {
  LOCKSTEP_CHECK(a.dtype() == b.dtype() && a.shape() == b.shape(), operation, ": ",
                 name_of(a.dtype()), " ", text_of(a.shape()), " and ", name_of(b.dtype()), " ",
                 text_of(b.shape()), " differ; both need one dtype and one shape");
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
}

// The last axis of x as columns, everything before it as rows.
struct Rows {
  std::int64_t count, width;
};
inline Rows rows_of(const char* operation, const Tensor& x) {
  LOCKSTEP_CHECK(!x.shape().empty(), operation, ": a tensor of shape [] has no last axis");
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < x.shape().size(); ++i) count *= x.shape()[i];
  return {count, x.shape().back()};
}

inline Tensor result(const Tensor& like, Shape shape) {
  return empty(std::move(shape), like.dtype(), like.device(), MemoryKind::activations);
}

// `flops` an element of x; `tensors_moved` tensors of x's size read or written.
inline void charge(const Tensor& x, double flops, double tensors_moved) {
  x.device().charge(flops * static_cast<double>(x.numel()),
                    tensors_moved * static_cast<double>(x.bytes()));
}

}  // namespace lockstep::ops
