#include "engine/tensor/broadcast.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {
namespace {

Tensor combine(const char* operation, Binary kind, const Tensor& a, const Tensor& b) {
  check_float(operation, a);
  LOCKSTEP_CHECK(a.dtype() == b.dtype(), operation, ": ", name_of(a.dtype()), " and ",
                 name_of(b.dtype()), "; convert one of them");
  check_together(operation, a, b);
  Tensor c = result(a, broadcast_shape(a.shape(), b.shape()));
  a.device().kernels().combine(kind, a, b, c);
  charge(c, 1, 3);
  return c;
}

}  // namespace

Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape shape = a.size() >= b.size() ? a : b;
  const Shape& other = a.size() >= b.size() ? b : a;
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& size = shape[shape.size() - 1 - i];
    const std::int64_t wanted = other[other.size() - 1 - i];
    LOCKSTEP_CHECK(size == wanted || size == 1 || wanted == 1, "shapes ", text_of(a), " and ",
                   text_of(b), " do not broadcast: aligned at the last axis, sizes ", size, " and ",
                   wanted, " meet; they must be equal, or one of them 1");
    if (size == 1) size = wanted;
  }
  return shape;
}

Tensor add(const Tensor& a, const Tensor& b) { return combine("add", Binary::add, a, b); }

Tensor subtract(const Tensor& a, const Tensor& b) {
  return combine("subtract", Binary::subtract, a, b);
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  return combine("multiply", Binary::multiply, a, b);
}

Tensor scale(const Tensor& x, double factor) {
  check_float("scale", x);
  Tensor y = result(x, x.shape());
  x.device().kernels().scaled(x, factor, y);
  charge(x, 1, 2);
  return y;
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  check_float("sum_to", x);
  LOCKSTEP_CHECK(broadcast_shape(x.shape(), shape) == x.shape(), "sum_to: ", text_of(shape),
                 " does not broadcast to ", text_of(x.shape()));
  Tensor total = result(x, shape);
  x.device().kernels().sum_to(x, total);
  total.device().charge(0, static_cast<double>(total.bytes()));  // begins at zero
  charge(x, 1, 1);
  return total;
}

Tensor sum(const Tensor& x) {
  const Tensor total = sum_to(x.view({x.numel()}), {1});
  return x.numel() == 1 ? total.clone(MemoryKind::activations) : total;
}

Tensor sum_of_squares(std::span<const Tensor> xs) {
  LOCKSTEP_CHECK(!xs.empty(), "sum_of_squares: no tensors, so no device for the sum");
  Device& device = xs.front().device();
  const Tensor total = empty({1}, DType::float64, device, MemoryKind::buffers);
  device.kernels().fill(0, total);
  for (const Tensor& x : xs) {
    check_float("sum_of_squares", x);
    check_together("sum_of_squares", x, total);
    device.kernels().add_squares(x, total);
    charge(x, 2, 1);
  }
  return total;
}

Clipping clip_factor(const Tensor& squares, double max_norm) {
  Clipping clipping{squares.empty_like(1), squares.empty_like(1)};
  squares.device().kernels().clip_factor(squares, max_norm, clipping.norm, clipping.factor);
  return clipping;
}

void scale_by_(const Tensor& x, const Tensor& factor) {
  check_float("scale_by_", x);
  LOCKSTEP_CHECK(factor.numel() == 1 && factor.dtype() == DType::float64, "scale_by_: a factor of ",
                 name_of(factor.dtype()), " ", text_of(factor.shape()), ", expected one float64");
  check_together("scale_by_", x, factor);
  x.device().kernels().scale_by(x, factor);
  charge(x, 1, 2);
}

}  // namespace lockstep::ops
