// The sum of squares, which clipping takes of every gradient at every step: sixteen running sums
// instead of one, because an addition waits for the one before it.
#include <array>

#include "engine/tensor/ops.hpp"
#include "engine/tensor/visit_float.hpp"

namespace lockstep::ops {
namespace {

constexpr std::size_t lanes = 16;

template <typename T>
[[gnu::always_inline]] inline double sum(std::span<const T> x) {
  std::array<double, lanes> sums{};
  const std::size_t whole = x.size() / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
#pragma GCC unroll 16
    for (std::size_t l = 0; l < lanes; ++l) {
      const auto element = static_cast<double>(x[i + l]);
      sums[l] += element * element;
    }
  }
  for (std::size_t i = whole; i < x.size(); ++i) {
    const auto element = static_cast<double>(x[i]);
    sums[i - whole] += element * element;
  }
  double total = 0;
  for (const double lane : sums) total += lane;
  return total;
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2")]] double sum_avx2(std::span<const T> x) {
  return sum(x);
}
#endif

template <typename T>
double best_sum(std::span<const T> x) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return sum_avx2(x);
#endif
  return sum(x);
}

}  // namespace

double sum_of_squares(const Tensor& x) {
  x.device().charge(static_cast<double>(x.numel()), static_cast<double>(x.bytes()));
  double total = 0;
  visit_float("sum_of_squares", x,
              [&]<typename T>() { total = best_sum(std::span<const T>(x.data<T>())); });
  return total;
}

}  // namespace lockstep::ops
