// One loop for every element type and operator, compiled for the baseline, and for AVX2 where it
// sums: training waits for sums, and each further body takes the compiler a quarter of a second.
// Lanes do not meet in the loop, and no product is fused with a sum, so the registers' width does
// not change a bit of the result.
#include "engine/base/reduce.hpp"

#include "engine/base/error.hpp"

#include <cstring>
#include <type_traits>

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

// The scaling of an element before it is combined, and of the sum before it is written.
struct AsItIs {
  template <typename T>
  T operator()(T element) const {
    return element;
  }
};

// The arithmetic type of a half is float32, as in Tensor::scale_.
template <typename T>
struct Share {
  using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
  Wide factor;
  T operator()(T element) const { return static_cast<T>(static_cast<Wide>(element) * factor); }
};

// A stretch of elements that is taken from all sources before any result is written: a few cache
// lines, so that all streams of memory flow at once.
template <typename T>
constexpr std::int64_t stretch = 256 / sizeof(T);

template <typename T>
using Stretch = T[stretch<T>];

// A register at a time: the compiler makes a call of one large copy, and that call is slow for a
// few lines of cache.
template <typename T>
[[gnu::always_inline]] inline void put(T* to, const Stretch<T>& from) {
  constexpr std::size_t step = 32;
  auto* const out = reinterpret_cast<std::byte*>(to);
  const auto* const in = reinterpret_cast<const std::byte*>(from);
  for (std::size_t at = 0; at < sizeof from; at += step) std::memcpy(out + at, in + at, step);
}

template <typename T>
struct Operands {
  std::span<const std::byte* const> sources;
  std::span<std::byte* const> results;
  const T* source(std::size_t s) const { return reinterpret_cast<const T*>(sources[s]); }
  T* result(std::size_t r) const { return reinterpret_cast<T*>(results[r]); }
};

template <typename T, typename Combine, typename Take, typename Give>
[[gnu::always_inline]] inline void fold(const Operands<T>& operands, Take take, Give give,
                                        std::int64_t count) {
  alignas(64) Stretch<T> sum;
  std::int64_t at = 0;
  for (; at + stretch<T> <= count; at += stretch<T>) {
    const T *const a = operands.source(0) + at, *const b = operands.source(1) + at;
    for (std::int64_t i = 0; i < stretch<T>; ++i) sum[i] = Combine{}(take(a[i]), take(b[i]));
    for (std::size_t s = 2; s < operands.sources.size(); ++s) {
      const T* const next = operands.source(s) + at;
      for (std::int64_t i = 0; i < stretch<T>; ++i) sum[i] = Combine{}(sum[i], take(next[i]));
    }
    for (std::int64_t i = 0; i < stretch<T>; ++i) sum[i] = give(sum[i]);
    for (std::size_t r = 0; r < operands.results.size(); ++r) put(operands.result(r) + at, sum);
  }
  for (; at < count; ++at) {
    T one = Combine{}(take(operands.source(0)[at]), take(operands.source(1)[at]));
    for (std::size_t s = 2; s < operands.sources.size(); ++s) {
      one = Combine{}(one, take(operands.source(s)[at]));
    }
    one = give(one);
    for (std::size_t r = 0; r < operands.results.size(); ++r) operands.result(r)[at] = one;
  }
}

#if defined(__x86_64__)
template <typename T, typename Combine, typename Take, typename Give>
[[gnu::target("avx2")]] void fold_avx2(const Operands<T>& operands, Take take, Give give,
                                       std::int64_t count) {
  fold<T, Combine>(operands, take, give, count);
}
#endif

template <typename T, typename Combine, typename Take, typename Give>
void fold_by_processor(const Operands<T>& operands, Take take, Give give, std::int64_t count) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return fold_avx2<T, Combine>(operands, take, give, count);
#endif
  fold<T, Combine>(operands, take, give, count);
}

template <typename Combine>
void combine(DType dtype, std::span<const std::byte* const> sources,
             std::span<std::byte* const> results, std::int64_t count) {
  visit_dtype(dtype, [&]<typename T>() {
    const Operands<T> operands{sources, results};
    if constexpr (std::is_same_v<Combine, Plus>) {
      fold_by_processor<T, Combine>(operands, AsItIs{}, AsItIs{}, count);
    } else {
      fold<T, Combine>(operands, AsItIs{}, AsItIs{}, count);
    }
  });
}

}  // namespace

void reduce_elements(DType dtype, ReduceOp op, std::byte* accumulator, const std::byte* operand,
                     std::int64_t count) {
  const std::byte* const sources[] = {accumulator, operand};
  reduce_in_order(dtype, op, sources, {&accumulator, 1}, count);
}

void reduce_in_order(DType dtype, ReduceOp op, std::span<const std::byte* const> sources,
                     std::span<std::byte* const> results, std::int64_t count) {
  if (sources.size() == 1) {
    const std::size_t bytes = static_cast<std::size_t>(count) * bytes_of(dtype);
    for (std::byte* const result : results) {
      if (result != sources[0]) std::memcpy(result, sources[0], bytes);
    }
    return;
  }
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return combine<Plus>(dtype, sources, results, count);
    case ReduceOp::product:
      return combine<Times>(dtype, sources, results, count);
    case ReduceOp::min:
      return combine<Smaller>(dtype, sources, results, count);
    case ReduceOp::max:
      return combine<Larger>(dtype, sources, results, count);
  }
}

namespace {

// Calls body(Share<T>, Operands<T>) for a type with fractions.
template <typename Body>
void with_share(const char* operation, DType dtype, double factor,
                std::span<const std::byte* const> sources, std::span<std::byte* const> results,
                const Body& body) {
  LOCKSTEP_CHECK(!is_integer(dtype), operation, ": the elements are ", name_of(dtype), ", which ",
                 factor, " would round; take a floating-point type");
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (!std::is_integral_v<T>) {
      body(Share<T>{static_cast<typename Share<T>::Wide>(factor)}, Operands<T>{sources, results});
    }
  });
}

template <typename T>
void multiply_only(const Operands<T>& operands, Share<T> share, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T only = share(operands.source(0)[i]);
    for (std::size_t r = 0; r < operands.results.size(); ++r) operands.result(r)[i] = only;
  }
}

}  // namespace

void sum_of_shares(DType dtype, double share, std::span<const std::byte* const> sources,
                   std::span<std::byte* const> results, std::int64_t count) {
  with_share("sum_of_shares", dtype, share, sources, results,
             [&]<typename T>(Share<T> take, const Operands<T>& operands) {
               if (sources.size() == 1) return multiply_only(operands, take, count);
               fold_by_processor<T, Plus>(operands, take, AsItIs{}, count);
             });
}

void scaled_sum(DType dtype, double factor, std::span<const std::byte* const> sources,
                std::span<std::byte* const> results, std::int64_t count) {
  with_share("scaled_sum", dtype, factor, sources, results,
             [&]<typename T>(Share<T> give, const Operands<T>& operands) {
               if (sources.size() == 1) return multiply_only(operands, give, count);
               fold_by_processor<T, Plus>(operands, AsItIs{}, give, count);
             });
}

}  // namespace lockstep
