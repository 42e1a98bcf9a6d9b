// Each activation is a struct with its value and its slope at a vector of elements.
#include "engine/tensor/cpu/kernel_table.hpp"
#include "engine/tensor/cpu/vector_functions.hpp"
#include "engine/tensor/cpu/visit_real.hpp"

namespace lockstep::kernels {
namespace {

struct Relu {
  template <typename V>
  LOCKSTEP_INLINED static inline V value(V x) {
    return x < 0 ? V{} : x;
  }
};

// 0.5·x·(1 + tanh u) = x·sigmoid(2u) with 2u = x·(a + b·x²).
struct Gelu {
  static constexpr double a = 1.5957691216057308;    // 2·√(2/π)
  static constexpr double b = 0.071354816272600238;  // 2·√(2/π)·0.044715

  template <typename V>
  LOCKSTEP_INLINED static inline V value(V x) {
    using T = vectors::Element<V>;
    return x * vectors::sigmoid(x * (T(a) + T(b) * (x * x)));
  }
  template <typename V>
  LOCKSTEP_INLINED static inline V slope(V x) {
    using T = vectors::Element<V>;
    const V square = x * x;
    const V u = x * (T(a) + T(b) * square);
    // 1 - s would cancel where s is nearly 1, and be multiplied by x³ then: e·s is the same.
    const V e = vectors::exp(-u);
    const V s = 1 / (1 + e);
    const V slope = s + (x * s) * ((e * s) * (T(a) + T(3 * b) * square));
    return u < T(-87) ? V{} : slope;  // there e overflows, and the slope is below 1e-35
  }
};

struct GeluExact {
  template <typename V>
  LOCKSTEP_INLINED static inline V normal(V x) {
    using T = vectors::Element<V>;
    return T(0.5) * (1 + vectors::erf(x * T(0.70710678118654752)));
  }
  template <typename V>
  LOCKSTEP_INLINED static inline V value(V x) {
    return x * normal(x);
  }
  template <typename V>
  LOCKSTEP_INLINED static inline V slope(V x) {
    using T = vectors::Element<V>;
    const V density = T(0.39894228040143268) * vectors::exp(T(-0.5) * (x * x));
    return normal(x) + x * density;
  }
};

struct Silu {
  template <typename V>
  LOCKSTEP_INLINED static inline V value(V x) {
    return x * vectors::sigmoid(x);
  }
  template <typename V>
  LOCKSTEP_INLINED static inline V slope(V x) {
    const V s = vectors::sigmoid(x);
    return s + (x * s) * (1 - s);
  }
};

struct Tanh {
  template <typename V>
  LOCKSTEP_INLINED static inline V value(V x) {
    return vectors::tanh(x);
  }
  template <typename V>
  LOCKSTEP_INLINED static inline V slope(V x) {
    const V t = vectors::tanh(x);
    return 1 - t * t;
  }
};

struct Sigmoid {
  template <typename V>
  LOCKSTEP_INLINED static inline V value(V x) {
    return vectors::sigmoid(x);
  }
  template <typename V>
  LOCKSTEP_INLINED static inline V slope(V x) {
    const V s = vectors::sigmoid(x);
    return s * (1 - s);
  }
};

// Registers that go side by side: four where an element takes a long chain of instructions.
template <typename T, typename F>
constexpr int at_once =
    std::is_same_v<T, float> && !std::is_same_v<F, Relu> && !std::is_same_v<F, GeluExact> ? 4 : 1;

template <typename Function>
void visit(ops::Activation activation, Function&& function) {
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

}  // namespace

void activate(Isa isa, const Tensor& x, ops::Activation activation, const Tensor& y) {
  visit_real(x, [&]<typename T>() {
    visit(activation, [&]<typename F>() {
      vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
        vectors::map<at_once<T, F>>(
            registers, x.numel(), y.data<T>().data(),
            [](auto v) LOCKSTEP_INLINED { return F::value(v); }, x.data<T>().data());
      });
    });
  });
}

void activate_backward(Isa isa, const Tensor& grad, const Tensor& x, ops::Activation activation,
                       const Tensor& out) {
  visit_real(x, [&]<typename T>() {
    visit(activation, [&]<typename F>() {
      vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
        vectors::map<at_once<T, F>>(
            registers, x.numel(), out.data<T>().data(),
            [](auto g, auto v) LOCKSTEP_INLINED {
              // Chosen, not multiplied: no gradient passes where relu is flat, an infinite neither.
              if constexpr (std::is_same_v<F, Relu>)
                return v <= 0 ? decltype(g){} : g;
              else
                return g * F::slope(v);
            },
            grad.data<T>().data(), x.data<T>().data());
      });
    });
  });
}

}  // namespace lockstep::kernels
