// Elements in registers: the type in which a kernel computes, operations that are rounded one by
// one, and packets of 16 bytes, which one instruction loads or stores.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "engine/base/dtype.hpp"

namespace lockstep::gpu {

// float64 computes in float64, everything else in float32.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
__device__ Wide<T> wide(T x) {
  return static_cast<Wide<T>>(x);
}

// nvcc makes one fused multiply-add of a product and a sum, which rounds once. These two round as
// the CPU does, where its bits are wanted.
__device__ inline float times(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double times(double a, double b) { return __dmul_rn(a, b); }
__device__ inline float plus(float a, float b) { return __fadd_rn(a, b); }
__device__ inline double plus(double a, double b) { return __dadd_rn(a, b); }

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }

// `width` neighbours in memory, aligned to their size together.
template <typename T, int width>
struct Packet {
  T of[width];
};

template <int width, typename T>
__device__ Packet<T, width> load(const T* from) {
  if constexpr (width == 1) {
    return {{*from}};
  } else {
    static_assert(sizeof(Packet<T, width>) == sizeof(uint4));
    return std::bit_cast<Packet<T, width>>(*reinterpret_cast<const uint4*>(from));
  }
}

template <int width, typename T>
__device__ void store(T* to, const Packet<T, width>& packet) {
  if constexpr (width == 1) {
    *to = packet.of[0];
  } else {
    *reinterpret_cast<uint4*>(to) = std::bit_cast<uint4>(packet);
  }
}

}  // namespace lockstep::gpu
