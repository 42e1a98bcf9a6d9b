// Each activation is a struct with its value and its slope; formulas as in
// tensor/cpu/activation.cpp.
#include "engine/gpu/kernels/launch.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

template <typename V>
__device__ V sigmoid(V x) {
  return 1 / (1 + exponential(-x));
}

struct Relu {
  template <typename V>
  __device__ static V value(V x) {
    return x < 0 ? V(0) : x;  // a NaN stays one
  }
  // Chosen, not multiplied: no gradient passes where relu is flat, an infinite neither.
  template <typename V>
  __device__ static V backward(V grad, V x) {
    return x <= 0 ? V(0) : grad;
  }
};

// The others pass grad · slope(x).
template <typename Function>
struct Sloped {
  template <typename V>
  __device__ static V backward(V grad, V x) {
    return grad * Function::slope(x);
  }
};

struct Gelu : Sloped<Gelu> {
  static constexpr double a = 1.5957691216057308;    // 2·√(2/π)
  static constexpr double b = 0.071354816272600238;  // 2·√(2/π)·0.044715

  template <typename V>
  __device__ static V value(V x) {
    return x * sigmoid(x * (V(a) + V(b) * (x * x)));
  }
  template <typename V>
  __device__ static V slope(V x) {
    const V square = x * x;
    const V u = x * (V(a) + V(b) * square);
    const V e = exponential(-u);
    const V s = 1 / (1 + e);
    const V slope = s + (x * s) * ((e * s) * (V(a) + V(3 * b) * square));
    return u < V(-87) ? V(0) : slope;  // there e overflows, and the slope is below 1e-35
  }
};

struct GeluExact : Sloped<GeluExact> {
  template <typename V>
  __device__ static V normal(V x) {
    return V(0.5) * (1 + erf(x * V(0.70710678118654752)));
  }
  template <typename V>
  __device__ static V value(V x) {
    return x * normal(x);
  }
  template <typename V>
  __device__ static V slope(V x) {
    const V density = V(0.39894228040143268) * exponential(V(-0.5) * (x * x));
    return normal(x) + x * density;
  }
};

struct Silu : Sloped<Silu> {
  template <typename V>
  __device__ static V value(V x) {
    return x * sigmoid(x);
  }
  template <typename V>
  __device__ static V slope(V x) {
    const V s = sigmoid(x);
    return s + (x * s) * (1 - s);
  }
};

struct Tanh : Sloped<Tanh> {
  template <typename V>
  __device__ static V value(V x) {
    return tanh(x);
  }
  template <typename V>
  __device__ static V slope(V x) {
    const V t = tanh(x);
    return 1 - t * t;
  }
};

struct Sigmoid : Sloped<Sigmoid> {
  template <typename V>
  __device__ static V value(V x) {
    return sigmoid(x);
  }
  template <typename V>
  __device__ static V slope(V x) {
    const V s = sigmoid(x);
    return s * (1 - s);
  }
};

template <typename Function>
void visit(ops::Activation activation, const Function& function) {
  switch (activation) {
    case ops::Activation::relu:
      return function.template operator()<Relu>();
    case ops::Activation::gelu:
      return function.template operator()<Gelu>();
    case ops::Activation::gelu_exact:
      return function.template operator()<GeluExact>();
    case ops::Activation::silu:
      return function.template operator()<Silu>();
    case ops::Activation::tanh:
      return function.template operator()<Tanh>();
    case ops::Activation::sigmoid:
      return function.template operator()<Sigmoid>();
  }
}

template <typename Function>
struct Value {
  template <typename V>
  __device__ V operator()(V x) const {
    return Function::value(x);
  }
};
template <typename Function>
struct ActivationBackward {
  template <typename V>
  __device__ V operator()(V grad, V x) const {
    return Function::backward(grad, x);
  }
};

}  // namespace

void activate(const Call& call, const Tensor& x, ops::Activation activation, const Tensor& y) {
  visit_float(x, [&]<typename T>() {
    visit(activation, [&]<typename F>() {
      launch_map(call, "activate", x.numel(), elements<T>(y), InWide<T, Value<F>>{},
                 elements<const T>(x));
    });
  });
}

void activate_backward(const Call& call, const Tensor& grad, const Tensor& x,
                       ops::Activation activation, const Tensor& out) {
  visit_float(x, [&]<typename T>() {
    visit(activation, [&]<typename F>() {
      launch_map(call, "activate_backward", x.numel(), elements<T>(out),
                 InWide<T, ActivationBackward<F>>{}, elements<const T>(grad), elements<const T>(x));
    });
  });
}

}  // namespace lockstep::gpu::kernels
