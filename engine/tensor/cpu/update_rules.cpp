// Each rule is one loop without branches on elements; what does not change from element to element
// is decided before it. A loop is compiled for the baseline and, on x86-64, for AVX2, which AVX-512
// uses too: memory is slower than either.
#include "engine/tensor/cpu/update_rules.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/base/error.hpp"
#include "engine/tensor/cpu/kernel_table.hpp"
#include "engine/tensor/cpu/visit_real.hpp"

namespace lockstep::kernels {
namespace {

void check_lengths(const char* rule, std::size_t value, std::size_t grad, std::size_t state) {
  LOCKSTEP_CHECK(value == grad && value == state, rule, ": ", value, " values, ", grad,
                 " gradients and ", state, " elements of state; pass spans of one length");
}

template <typename T>
struct Sgd {
  T* __restrict value;
  const T* __restrict grad;
  T* __restrict velocity;
  std::size_t count;
  T rate, momentum, decay;

  template <typename Change>
  [[gnu::always_inline]] inline void each(const Change& change) const {
    const Sgd s = *this;  // a copy no store can reach
    if (s.decay == 0) {   // 0·p would make NaN of an infinite p
      for (std::size_t k = 0; k < s.count; ++k) {
        s.value[k] -= s.rate * change(s, k, s.grad[k]);
      }
    } else {
      for (std::size_t k = 0; k < s.count; ++k) {
        s.value[k] -= s.rate * change(s, k, s.grad[k] + s.decay * s.value[k]);
      }
    }
  }

  [[gnu::always_inline]] inline void run(Nesterov nesterov) const {
    if (momentum == 0) {
      each([](const Sgd&, std::size_t, T g) { return g; });
    } else if (nesterov == Nesterov::no) {
      each([](const Sgd& s, std::size_t k, T g) {
        return s.velocity[k] = s.momentum * s.velocity[k] + g;
      });
    } else {
      each([](const Sgd& s, std::size_t k, T g) {
        s.velocity[k] = s.momentum * s.velocity[k] + g;
        return g + s.momentum * s.velocity[k];
      });
    }
  }
};

template <typename T>
struct Adam {
  T* __restrict value;
  const T* __restrict grad;
  T* __restrict first;
  T* __restrict second;
  std::size_t count;
  T rest1, beta2, rest2;
  T rate;  // lr / (1 - β₁ᵗ)
  T root;  // √(1 - β₂ᵗ)
  T epsilon;
  T decay;  // added to the gradient, times p
  T keep;   // multiplied to p

  template <typename Gradient>
  [[gnu::always_inline]] inline void each(const Gradient& gradient) const {
    const Adam s = *this;
    // The mean of m and g from its nearer end, as PyTorch's lerp: exact at β₁ = 0 as well.
    if (s.rest1 < T(0.5)) {
      for (std::size_t k = 0; k < s.count; ++k) {
        const T p = s.value[k] * s.keep;
        const T g = gradient(s, k, p);
        s.finish(k, p, g, s.first[k] + s.rest1 * (g - s.first[k]));
      }
    } else {
      for (std::size_t k = 0; k < s.count; ++k) {
        const T p = s.value[k] * s.keep;
        const T g = gradient(s, k, p);
        s.finish(k, p, g, g - (g - s.first[k]) * (T(1) - s.rest1));
      }
    }
  }

  [[gnu::always_inline]] inline void finish(std::size_t k, T p, T g, T m) const {
    const T v = second[k] * beta2 + rest2 * g * g;
    first[k] = m;
    second[k] = v;
    value[k] = p - rate * m / (std::sqrt(v) / root + epsilon);
  }

  [[gnu::always_inline]] inline void run() const {
    if (decay == 0) {
      each([](const Adam& s, std::size_t k, T) { return s.grad[k]; });
    } else {
      each([](const Adam& s, std::size_t k, T p) { return s.grad[k] + s.decay * p; });
    }
  }
};

#if defined(__x86_64__)
template <typename Rule, typename... Arguments>
[[gnu::target("avx2")]] void run_avx2(const Rule& rule, Arguments... arguments) {
  rule.run(arguments...);
}
#endif

template <typename Rule, typename... Arguments>
void dispatch(Isa isa, const Rule& rule, Arguments... arguments) {
#if defined(__x86_64__)
  if (isa >= Isa::avx2) return run_avx2(rule, arguments...);
#endif
  rule.run(arguments...);
}

template <typename T>
void sgd_spans(Isa isa, std::span<T> value, std::span<const T> grad, std::span<T> velocity,
               const SgdRule& rule) {
  check_lengths("sgd_update", value.size(), grad.size(),
                rule.momentum == 0 ? value.size() : velocity.size());
  dispatch(isa,
           Sgd<T>{value.data(), grad.data(), velocity.data(), value.size(),
                  static_cast<T>(rule.learning_rate), static_cast<T>(rule.momentum),
                  static_cast<T>(rule.weight_decay)},
           rule.nesterov);
}

template <typename T>
void adam_spans(Isa isa, std::span<T> value, std::span<const T> grad, std::span<T> first,
                std::span<T> second, const AdamRule& rule, std::int64_t updates) {
  check_lengths("adam_update", value.size(), grad.size(), first.size());
  check_lengths("adam_update", value.size(), grad.size(), second.size());
  LOCKSTEP_CHECK(updates >= 1, "adam_update: update ", updates,
                 "; updates count from 1, or the correction of the bias would divide by zero");
  const auto t = static_cast<double>(updates);
  const bool coupled = rule.decay_form == DecayForm::coupled;
  dispatch(isa,
           Adam<T>{
               .value = value.data(),
               .grad = grad.data(),
               .first = first.data(),
               .second = second.data(),
               .count = value.size(),
               .rest1 = static_cast<T>(1 - rule.beta1),
               .beta2 = static_cast<T>(rule.beta2),
               .rest2 = static_cast<T>(1 - rule.beta2),
               .rate = static_cast<T>(rule.learning_rate / (1 - std::pow(rule.beta1, t))),
               .root = static_cast<T>(std::sqrt(1 - std::pow(rule.beta2, t))),
               .epsilon = static_cast<T>(rule.epsilon),
               .decay = static_cast<T>(coupled ? rule.weight_decay : 0),
               .keep = static_cast<T>(coupled ? 1 : 1 - rule.learning_rate * rule.weight_decay),
           });
}

// Scales in place; true when an element was infinite or NaN before. The test is on the exponent's
// bits, all ones, so that the loop has no branch.
template <typename T>
bool scale_and_look(std::span<T> elements, T factor) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const auto exponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits found = 0;
  for (T& element : elements) {
    found |= (std::bit_cast<Bits>(element) & exponent) == exponent ? Bits(1) : Bits(0);
    element *= factor;
  }
  return found != 0;
}

}  // namespace

void sgd_update(Isa isa, std::span<float> value, std::span<const float> grad,
                std::span<float> velocity, const SgdRule& rule) {
  sgd_spans(isa, value, grad, velocity, rule);
}
void sgd_update(Isa isa, std::span<double> value, std::span<const double> grad,
                std::span<double> velocity, const SgdRule& rule) {
  sgd_spans(isa, value, grad, velocity, rule);
}
void adam_update(Isa isa, std::span<float> value, std::span<const float> grad,
                 std::span<float> first, std::span<float> second, const AdamRule& rule,
                 std::int64_t updates) {
  adam_spans(isa, value, grad, first, second, rule, updates);
}
void adam_update(Isa isa, std::span<double> value, std::span<const double> grad,
                 std::span<double> first, std::span<double> second, const AdamRule& rule,
                 std::int64_t updates) {
  adam_spans(isa, value, grad, first, second, rule, updates);
}

void sgd(Isa isa, const Tensor& grad, const SgdRule& rule, const Tensor& value,
         const Tensor& velocity) {
  visit_real(value, [&]<typename T>() {
    sgd_update(isa, value.data<T>(), grad.data<T>(),
               velocity.defined() ? velocity.data<T>() : std::span<T>(), rule);
  });
}

void adam(Isa isa, const Tensor& grad, const AdamRule& rule, std::int64_t updates,
          const Tensor& value, const Tensor& first, const Tensor& second) {
  visit_real(value, [&]<typename T>() {
    adam_update(isa, value.data<T>(), grad.data<T>(), first.data<T>(), second.data<T>(), rule,
                updates);
  });
}

void unscale(const Tensor& x, double factor, const Tensor& found) {
  visit_real(x, [&]<typename T>() {
    if (scale_and_look(x.data<T>(), static_cast<T>(factor))) found.data<std::int64_t>()[0] = 1;
  });
}

}  // namespace lockstep::kernels
