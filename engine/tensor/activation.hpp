// Functions of one element: what stands between two linear layers.
#pragma once

#include <string_view>

#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

enum class Activation : std::uint8_t {
  relu,  // max(x, 0)
  gelu,  // x·Φ(x) with Φ's tanh form, as GPT-2 has it: [HG16] §2, PyTorch's approximate="tanh"
  gelu_exact,  // x·Φ(x), Φ the normal distribution: PyTorch's default
  silu,        // x / (1 + e⁻ˣ)
  tanh,
  sigmoid
};
constexpr Activation all_activations[] = {Activation::relu,       Activation::gelu,
                                          Activation::gelu_exact, Activation::silu,
                                          Activation::tanh,       Activation::sigmoid};
std::string_view name_of(Activation activation);

// A NaN stays a NaN: a diverged run must not look healthy.
Tensor activate(const Tensor& x, Activation activation);

// grad · d activate(x) / dx, of the operation's input x. relu's derivative at 0 is 0.
Tensor activate_backward(const Tensor& grad, const Tensor& x, Activation activation);

}  // namespace lockstep::ops
