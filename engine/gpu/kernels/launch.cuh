// How kernels are launched: grids that are large enough to fill a GPU and no larger, so that each
// thread walks on by the grid's size until nothing is left; nothing is launched for no elements.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/gpu/cuda_check.hpp"
#include "engine/gpu/kernels/call.hpp"
#include "engine/gpu/kernels/numbers.cuh"
#include "engine/tensor/tensor.hpp"

namespace lockstep::gpu {

constexpr unsigned block_threads = 256;
// Sixteen blocks for each of 132 processors, rounded down; a stride does the rest.
constexpr std::int64_t blocks_max = 2048;

inline unsigned blocks_for(std::int64_t items, std::int64_t items_of_block) {
  const std::int64_t blocks = (items + items_of_block - 1) / items_of_block;
  return static_cast<unsigned>(std::min(blocks, blocks_max));
}

template <typename T>
T* elements(const Tensor& x) {
  return x.defined() ? reinterpret_cast<T*>(x.address()) : nullptr;
}

// visit_float(x, [&]<typename T>() { … }) with the element type of x.
template <typename Function>
void visit_float(const Tensor& x, Function&& function) {
  switch (x.dtype()) {
    case DType::float32:
      return function.template operator()<float>();
    case DType::float64:
      return function.template operator()<double>();
    case DType::bfloat16:
      return function.template operator()<BFloat16>();
    case DType::float16:
      return function.template operator()<Float16>();
    default:
      break;
  }
  throw ContractError(text("a kernel that computes was given ", name_of(x.dtype()), " elements"));
}

// The last axis of x as columns, everything before it as rows.
struct Rows {
  std::int64_t count, width;
};
inline Rows rows_of(const Tensor& x) {
  const std::int64_t width = x.shape().back();
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < x.shape().size(); ++i) count *= x.shape()[i];
  return {count, width};
}

// Places of this thread in [0, count): first_place(), then steps of place_step().
__device__ inline std::int64_t first_place() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t place_step() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

// to[i] = each(from[i]…), in packets, then the rest that fills none. `to` may be one of the others.
template <typename T, int width, typename Each, typename... From>
__global__ void map(std::int64_t count, T* to, Each each, From... from) {
  const std::int64_t packets = count / width;
  for (std::int64_t p = first_place(); p < packets; p += place_step()) {
    Packet<T, width> result;
    [&](const auto&... packet) {
#pragma unroll
      for (int i = 0; i < width; ++i) result.of[i] = each(packet.of[i]...);
    }(load<width>(from + p * width)...);
    store<width>(to + p * width, result);
  }
  const std::int64_t rest = packets * width + first_place();
  if (rest < count) to[rest] = each(from[rest]...);
}

inline bool aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(uint4) == 0;
}

// Packets where all addresses allow them; a window into a tensor may begin anywhere.
template <typename T, typename Each, typename... From>
void launch_map(const Call& call, const char* kernel, std::int64_t count, T* to, const Each& each,
                const From*... from) {
  constexpr int width = sizeof(uint4) / sizeof(T);
  if (count == 0) return;
  if (aligned(to) && (aligned(from) && ...)) {
    map<T, width><<<blocks_for(count, block_threads * width), block_threads, 0, call.stream>>>(
        count, to, each, from...);
  } else {
    map<T, 1><<<blocks_for(count, block_threads), block_threads, 0, call.stream>>>(count, to, each,
                                                                                   from...);
  }
  check_launch(kernel);
}

// Computes in T's wide type what `Each` says: converted before, rounded once after.
template <typename T, typename Each>
struct InWide {
  Each each;
  template <typename... X>
  __device__ T operator()(X... x) const {
    return static_cast<T>(each(wide(x)...));
  }
};

}  // namespace lockstep::gpu
