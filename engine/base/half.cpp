#include "engine/base/half.hpp"

#include "engine/base/error.hpp"

namespace lockstep {
namespace {

template <typename From, typename To>
[[gnu::always_inline]] inline void each(const From* __restrict from, To* __restrict to,
                                        std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

// The same operations on eight elements instead of four: the same bits.
#if defined(__x86_64__)
template <typename From, typename To>
[[gnu::target("avx2")]] void each_avx2(const From* from, To* to, std::size_t count) {
  each(from, to, count);
}
#endif

template <typename From, typename To>
void convert_all(std::span<const From> from, std::span<To> to) {
  LOCKSTEP_CHECK(from.size() == to.size(), "convert: ", from.size(), " elements into room for ",
                 to.size(), "; both spans need one length");
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return each_avx2(from.data(), to.data(), from.size());
#endif
  each(from.data(), to.data(), from.size());
}

}  // namespace

void convert(std::span<const float> from, std::span<BFloat16> to) { convert_all(from, to); }
void convert(std::span<const float> from, std::span<Float16> to) { convert_all(from, to); }
void convert(std::span<const BFloat16> from, std::span<float> to) { convert_all(from, to); }
void convert(std::span<const Float16> from, std::span<float> to) { convert_all(from, to); }

}  // namespace lockstep
