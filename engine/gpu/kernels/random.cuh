// The counter-based stream of engine/base/random.hpp on the device, to the same bits.
#pragma once

#include <cstdint>

namespace lockstep::gpu {

__device__ inline std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

__device__ inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;
  return mixed(mixed(seed + golden) + golden * (index + 1));
}

__device__ inline double random_uniform(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(random_bits(seed, index) >> 11) * 0x1.0p-53;
}

}  // namespace lockstep::gpu
