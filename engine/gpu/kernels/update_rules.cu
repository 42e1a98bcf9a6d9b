// One step of an optimizer, a thread an element: rules and order of roundings as in
// engine/tensor/update_rules.hpp, to the CPU's bits. Of halves, the step is computed in float32 and
// what is kept is rounded once.
#include <cmath>

#include "engine/gpu/kernels/launch.cuh"
#include "engine/gpu/kernels/table.hpp"
#include "engine/gpu/kernels/teams.cuh"

namespace lockstep::gpu::kernels {
namespace {

template <typename V>
struct SgdNumbers {
  V rate, momentum, decay;
  int nesterov;
};

template <typename T>
__global__ void sgd_step(std::int64_t count, const T* grad, SgdNumbers<Wide<T>> rule, T* value,
                         T* velocity) {
  using V = Wide<T>;
  for (std::int64_t i = first_place(); i < count; i += place_step()) {
    const V p = wide(value[i]);
    V g = wide(grad[i]);
    if (rule.decay != 0) g = plus(g, times(rule.decay, p));  // 0·p would make NaN of an infinite p
    if (rule.momentum != 0) {
      const V v = plus(times(rule.momentum, wide(velocity[i])), g);
      velocity[i] = static_cast<T>(v);
      g = rule.nesterov == 0 ? v : plus(g, times(rule.momentum, v));
    }
    value[i] = static_cast<T>(plus(p, -times(rule.rate, g)));
  }
}

template <typename V>
struct AdamNumbers {
  V rest1, beta2, rest2;
  V rate;  // lr / (1 - β₁ᵗ)
  V root;  // √(1 - β₂ᵗ)
  V epsilon;
  V decay;  // added to the gradient, times p
  V keep;   // multiplied to p
};

template <typename T>
__global__ void adam_step(std::int64_t count, const T* grad, AdamNumbers<Wide<T>> rule, T* value,
                          T* first, T* second) {
  using V = Wide<T>;
  for (std::int64_t i = first_place(); i < count; i += place_step()) {
    const V p = times(wide(value[i]), rule.keep);
    V g = wide(grad[i]);
    if (rule.decay != 0) g = plus(g, times(rule.decay, p));
    const V before = wide(first[i]), apart = plus(g, -before);
    // The mean of m and g from its nearer end, as PyTorch's lerp: exact at β₁ = 0 as well.
    const V m = rule.rest1 < V(0.5) ? plus(before, times(rule.rest1, apart))
                                    : plus(g, -times(apart, plus(V(1), -rule.rest1)));
    const V v = plus(times(wide(second[i]), rule.beta2), times(times(rule.rest2, g), g));
    first[i] = static_cast<T>(m);
    second[i] = static_cast<T>(v);
    value[i] =
        static_cast<T>(plus(p, -(times(rule.rate, m) / plus(sqrt(v) / rule.root, rule.epsilon))));
  }
}

template <typename T>
__global__ void unscale_each(std::int64_t count, Wide<T> factor, T* x, unsigned long long* found) {
  bool seen = false;
  for (std::int64_t i = first_place(); i < count; i += place_step()) {
    const Wide<T> element = wide(x[i]);
    seen = seen || !isfinite(element);
    x[i] = static_cast<T>(element * factor);
  }
  // One lane tells, and only where there is something to tell.
  if (__any_sync(all_lanes, seen) && threadIdx.x % 32 == 0) atomicMax(found, 1ULL);
}

}  // namespace

void sgd(const Call& call, const Tensor& grad, const SgdRule& rule, const Tensor& value,
         const Tensor& velocity) {
  if (value.numel() == 0) return;
  visit_float(value, [&]<typename T>() {
    using V = Wide<T>;
    const SgdNumbers<V> numbers{static_cast<V>(rule.learning_rate), static_cast<V>(rule.momentum),
                                static_cast<V>(rule.weight_decay),
                                rule.nesterov == Nesterov::yes ? 1 : 0};
    sgd_step<<<blocks_for(value.numel(), block_threads), block_threads, 0, call.stream>>>(
        value.numel(), elements<const T>(grad), numbers, elements<T>(value), elements<T>(velocity));
  });
  check_launch("sgd");
}

void adam(const Call& call, const Tensor& grad, const AdamRule& rule, std::int64_t updates,
          const Tensor& value, const Tensor& first, const Tensor& second) {
  if (value.numel() == 0) return;
  const auto t = static_cast<double>(updates);
  const bool coupled = rule.decay_form == DecayForm::coupled;
  visit_float(value, [&]<typename T>() {
    using V = Wide<T>;
    const AdamNumbers<V> numbers{
        .rest1 = static_cast<V>(1 - rule.beta1),
        .beta2 = static_cast<V>(rule.beta2),
        .rest2 = static_cast<V>(1 - rule.beta2),
        .rate = static_cast<V>(rule.learning_rate / (1 - std::pow(rule.beta1, t))),
        .root = static_cast<V>(std::sqrt(1 - std::pow(rule.beta2, t))),
        .epsilon = static_cast<V>(rule.epsilon),
        .decay = static_cast<V>(coupled ? rule.weight_decay : 0),
        .keep = static_cast<V>(coupled ? 1 : 1 - rule.learning_rate * rule.weight_decay),
    };
    adam_step<<<blocks_for(value.numel(), block_threads), block_threads, 0, call.stream>>>(
        value.numel(), elements<const T>(grad), numbers, elements<T>(value), elements<T>(first),
        elements<T>(second));
  });
  check_launch("adam");
}

void unscale(const Call& call, const Tensor& x, double factor, const Tensor& found) {
  if (x.numel() == 0) return;
  visit_float(x, [&]<typename T>() {
    unscale_each<<<blocks_for(x.numel(), block_threads), block_threads, 0, call.stream>>>(
        x.numel(), static_cast<Wide<T>>(factor), elements<T>(x),
        elements<unsigned long long>(found));
  });
  check_launch("unscale");
}

}  // namespace lockstep::gpu::kernels
