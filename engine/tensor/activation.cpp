#include "engine/tensor/activation.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {
namespace {

// FLOPs an element: an estimate for the clock, an exponential counted as ten.
constexpr double element_flops = 15;

}  // namespace

std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_exact:
      return "gelu_exact";
    case Activation::silu:
      return "silu";
    case Activation::tanh:
      return "tanh";
    case Activation::sigmoid:
      break;
  }
  return "sigmoid";
}

Tensor activate(const Tensor& x, Activation activation) {
  check_float("activate", x);
  Tensor y = result(x, x.shape());
  x.device().kernels().activate(x, activation, y);
  charge(x, activation == Activation::relu ? 1 : element_flops, 2);
  return y;
}

Tensor activate_backward(const Tensor& grad, const Tensor& x, Activation activation) {
  check_float("activate_backward", x);
  check_same("activate_backward", grad, x);
  Tensor out = result(x, x.shape());
  x.device().kernels().activate_backward(grad, x, activation, out);
  charge(x, activation == Activation::relu ? 1 : element_flops, 3);
  return out;
}

}  // namespace lockstep::ops
