// Kernels that move elements: bytes in units of 1 to 16, the largest that all addresses and steps
// allow.
#include "engine/base/convert.hpp"
#include "engine/gpu/kernels/launch.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

template <typename Unit>
__global__ void copy_run_units(const Unit* from, Runs runs, Unit* to) {
  const std::int64_t total = runs.count * runs.length;
  for (std::int64_t i = first_place(); i < total; i += place_step()) {
    const std::int64_t run = i / runs.length, at = i - run * runs.length;
    to[runs.to_start + run * runs.to_step + at] = from[runs.from_start + run * runs.from_step + at];
  }
}

template <typename Unit>
__global__ void exchange_units(const Unit* from, Exchange axes, Unit* to) {
  const auto [outer, a, middle, b, inner] = axes;
  const std::int64_t total = outer * a * middle * b * inner;
  for (std::int64_t at = first_place(); at < total; at += place_step()) {
    std::int64_t rest = at;
    const std::int64_t n = rest % inner;
    rest /= inner;
    const std::int64_t i = rest % a;
    rest /= a;
    const std::int64_t m = rest % middle;
    rest /= middle;
    const std::int64_t j = rest % b, o = rest / b;
    to[at] = from[(((o * a + i) * middle + m) * b + j) * inner + n];
  }
}

// [outer, a, b] → [outer, b, a] by tiles: rows are read and rows are written, and the tile is
// turned in shared memory. Its rows have one unit more, so that a column lies in as many banks.
constexpr int tile = 32, tile_rows = 8;

template <typename Unit>
__global__ void exchange_tiles(const Unit* from, std::int64_t outer, std::int64_t a, std::int64_t b,
                               Unit* to) {
  __shared__ Unit turned[tile][tile + 1];
  const std::int64_t down = (a + tile - 1) / tile, across = (b + tile - 1) / tile;
  for (std::int64_t t = blockIdx.x; t < outer * down * across; t += gridDim.x) {
    const std::int64_t o = t / (down * across), first_a = t / across % down * tile,
                       first_b = t % across * tile;
    const std::int64_t base = o * a * b, x = threadIdx.x, y = threadIdx.y;
#pragma unroll
    for (int step = 0; step < tile / tile_rows; ++step) {
      const std::int64_t i = y + step * tile_rows;
      if (first_a + i < a && first_b + x < b) {
        turned[i][x] = from[base + (first_a + i) * b + first_b + x];
      }
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < tile / tile_rows; ++step) {
      const std::int64_t j = y + step * tile_rows;
      if (first_b + j < b && first_a + x < a) {
        to[base + (first_b + j) * a + first_a + x] = turned[x][j];
      }
    }
    __syncthreads();  // before the next tile is read into the same memory
  }
}

template <typename T>
struct Same {
  T value;
  __device__ T operator()() const { return value; }
};

// visit_unit(steps, [&]<typename Unit>() { … }): `steps` is all byte counts, or-ed together.
template <typename Function>
void visit_unit(std::uint64_t steps, const Function& function) {
  switch (steps & (~steps + 1)) {  // the lowest bit
    case 1:
      return function.template operator()<std::uint8_t>();
    case 2:
      return function.template operator()<std::uint16_t>();
    case 4:
      return function.template operator()<std::uint32_t>();
    case 8:
      return function.template operator()<std::uint64_t>();
    default:
      return function.template operator()<uint4>();
  }
}

std::uint64_t bits_of(const Tensor& x) { return reinterpret_cast<std::uintptr_t>(x.address()); }

}  // namespace

void copy(const Call& call, const Tensor& from, const Tensor& to) {
  if (to.numel() == 0 || from.address() == to.address()) return;
  const std::size_t bytes = to.bytes();
  const auto between = [&](std::byte* target, const std::byte* source) {
    check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, call.stream), "copy");
  };
  const std::uint64_t a = bits_of(from), b = bits_of(to);
  if (a < b + bytes && b < a + bytes) {  // two windows of one storage
    const auto aside = call.scratch.take(bytes);
    between(aside.data(), from.address());
    between(to.address(), aside.data());
  } else {
    between(to.address(), from.address());
  }
}

void copy_runs(const Call& call, const Tensor& from, const Runs& runs, const Tensor& to) {
  if (runs.count == 0 || runs.length == 0) return;
  const auto size = static_cast<std::int64_t>(bytes_of(from.dtype()));
  const auto steps = static_cast<std::uint64_t>(
      (runs.length | runs.from_start | runs.from_step | runs.to_start | runs.to_step) * size);
  visit_unit(steps | bits_of(from) | bits_of(to), [&]<typename Unit>() {
    const auto units = [&](std::int64_t n) { return n * size / std::int64_t{sizeof(Unit)}; };
    const Runs in_units{
        runs.count,           units(runs.length), units(runs.from_start), units(runs.from_step),
        units(runs.to_start), units(runs.to_step)};
    copy_run_units<<<blocks_for(runs.count * in_units.length, block_threads), block_threads, 0,
                     call.stream>>>(elements<const Unit>(from), in_units, elements<Unit>(to));
  });
  check_launch("copy_runs");
}

void exchange(const Call& call, const Tensor& from, const Exchange& axes, const Tensor& to) {
  if (to.numel() == 0) return;
  const std::int64_t run = axes.inner * static_cast<std::int64_t>(bytes_of(from.dtype()));
  visit_unit(static_cast<std::uint64_t>(run) | bits_of(from) | bits_of(to), [&]<typename Unit>() {
    Exchange in_units = axes;
    in_units.inner = run / std::int64_t{sizeof(Unit)};
    if (axes.middle == 1 && in_units.inner == 1) {
      const std::int64_t tiles =
          axes.outer * ((axes.a + tile - 1) / tile) * ((axes.b + tile - 1) / tile);
      exchange_tiles<<<blocks_for(tiles, 1), dim3(tile, tile_rows), 0, call.stream>>>(
          elements<const Unit>(from), axes.outer, axes.a, axes.b, elements<Unit>(to));
    } else {
      exchange_units<<<blocks_for(to.numel() * in_units.inner / axes.inner, block_threads),
                       block_threads, 0, call.stream>>>(elements<const Unit>(from), in_units,
                                                        elements<Unit>(to));
    }
  });
  check_launch("exchange");
}

void fill(const Call& call, double value, const Tensor& to) {
  visit_dtype(to.dtype(), [&]<typename T>() {
    const T element = element_of<T>(value);
    launch_map(call, "fill", to.numel(), elements<T>(to), Same<T>{element});
  });
}

}  // namespace lockstep::gpu::kernels
