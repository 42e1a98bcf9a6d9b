// One loop for every element type and operator, compiled for the baseline and for AVX2. Lanes do
// not meet in it, so the registers' width does not change a bit of the result.
#include "engine/base/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

// The loop below may run in vectors although `out` may be an operand: element i needs element i
// only. The compiler cannot know that the ranges are equal or apart.
#if defined(__clang__)
#define LOCKSTEP_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define LOCKSTEP_APART _Pragma("GCC ivdep")
#endif

namespace lockstep {
namespace {

struct Smaller {
  template <typename T>
  T operator()(T a, T b) const {
    return (b < a || b != b) ? b : a;  // b != b: only a NaN differs from itself
  }
};

struct Larger {
  template <typename T>
  T operator()(T a, T b) const {
    return (b > a || b != b) ? b : a;
  }
};

// Integers wrap: operands may come from a process that is not trusted, and signed overflow would be
// undefined here.
struct Plus {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
      return static_cast<T>(a + b);  // of halves: a sum of floats, rounded once
    }
  }
};

struct Times {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return static_cast<T>(a * b);
    }
  }
};

template <typename T, typename Combine>
[[gnu::always_inline]] inline void each(T* out, const T* a, const T* b, std::int64_t count) {
  LOCKSTEP_APART
  for (std::int64_t i = 0; i < count; ++i) out[i] = Combine{}(a[i], b[i]);
}

#if defined(__x86_64__)
template <typename T, typename Combine>
[[gnu::target("avx2")]] void each_avx2(T* out, const T* a, const T* b, std::int64_t count) {
  each<T, Combine>(out, a, b, count);
}
#endif

template <typename Combine>
void combine(DType dtype, std::byte* out, const std::byte* a, const std::byte* b,
             std::int64_t count) {
  visit_dtype(dtype, [&]<typename T>() {
    T* const to = reinterpret_cast<T*>(out);
    const T* const left = reinterpret_cast<const T*>(a);
    const T* const right = reinterpret_cast<const T*>(b);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return each_avx2<T, Combine>(to, left, right, count);
#endif
    each<T, Combine>(to, left, right, count);
  });
}

// out = a op b
void combine(DType dtype, ReduceOp op, std::byte* out, const std::byte* a, const std::byte* b,
             std::int64_t count) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return combine<Plus>(dtype, out, a, b, count);
    case ReduceOp::product:
      return combine<Times>(dtype, out, a, b, count);
    case ReduceOp::min:
      return combine<Smaller>(dtype, out, a, b, count);
    case ReduceOp::max:
      return combine<Larger>(dtype, out, a, b, count);
  }
}

// Partial results stay in the first-level cache.
constexpr std::int64_t block_bytes = 8192;

}  // namespace

void reduce_elements(DType dtype, ReduceOp op, std::byte* accumulator, const std::byte* operand,
                     std::int64_t count) {
  combine(dtype, op, accumulator, accumulator, operand, count);
}

void reduce_in_order(DType dtype, ReduceOp op, std::span<const std::byte* const> sources,
                     std::byte* out, std::int64_t count) {
  const auto size = static_cast<std::int64_t>(bytes_of(dtype));
  if (sources.size() == 1) {
    if (out != sources[0]) std::memcpy(out, sources[0], static_cast<std::size_t>(count * size));
    return;
  }
  if (sources.size() == 2) return combine(dtype, op, out, sources[0], sources[1], count);
  // Block by block through `partial`: `out` may be a source that is not read yet.
  alignas(64) std::byte partial[block_bytes];
  const std::int64_t block = block_bytes / size;
  for (std::int64_t start = 0; start < count; start += block) {
    const std::int64_t length = std::min(block, count - start);
    const std::int64_t at = start * size;
    combine(dtype, op, partial, sources[0] + at, sources[1] + at, length);
    for (std::size_t s = 2; s + 1 < sources.size(); ++s) {
      combine(dtype, op, partial, partial, sources[s] + at, length);
    }
    combine(dtype, op, out + at, partial, sources.back() + at, length);
  }
}

}  // namespace lockstep
