// The vector instructions that the CPU's kernels use. Every kernel that computes is compiled for
// each of them and gives the same bits with each (docs/decisions/0010, 0050): the choice changes
// the speed and nothing else.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::kernels {

enum class Isa : std::uint8_t { baseline, avx2, avx512 };  // narrowest first

constexpr std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      break;
  }
  return "avx512";
}

// The widest that this processor has; baseline on anything but x86-64.
inline Isa widest_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Isa::avx512;
  }
  if (__builtin_cpu_supports("avx2")) return Isa::avx2;
#endif
  return Isa::baseline;
}

}  // namespace lockstep::kernels
