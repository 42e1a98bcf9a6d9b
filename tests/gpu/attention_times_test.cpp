// How long causal attention takes on a GPU, by tiles (heads of at most 128 numbers) and by products
// (wider ones): a table of docs/measured.md. Printed on demand, where a GPU is, by:
// LOCKSTEP_TEST_HARDWARE=nvidia bin/test_gpu_kernels '[.times]'
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/gpu/programs.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

constexpr std::int64_t tokens_of_call = 16'384;  // of all sequences together
constexpr int repetitions = 5;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of one call, the median: each time, so many calls that the host's own time is hidden.
double milliseconds_of(Device& device, const std::function<void()>& call) {
  const auto seconds = [&](int calls) {
    const double began = now_s();
    for (int i = 0; i < calls; ++i) call();
    device.settle();
    return (now_s() - began) / calls;
  };
  seconds(1);
  const int calls = std::clamp(static_cast<int>(0.02 / seconds(1)), 1, 100);
  std::vector<double> all;
  for (int i = 0; i < repetitions; ++i) all.push_back(seconds(calls));
  std::ranges::nth_element(all, all.begin() + repetitions / 2);
  return 1000 * all[repetitions / 2];
}

// Drawn once for 64 rows: a GPU computes faster with numbers that are all alike.
Tensor repeated_noise(Shape shape, DType dtype, Device& device, std::uint64_t stream) {
  const Tensor drawn = noise({64, shape.back()}, dtype, device, stream);
  const Tensor all = empty({numel_of(shape) / shape.back(), shape.back()}, dtype, device);
  for (std::int64_t row = 0; row < all.size(0); row += 64) all.narrow(row, 64).copy_(drawn);
  return all.view(std::move(shape));
}

void measure(std::int64_t tokens, std::int64_t head_size, DType dtype) {
  OnPaper gpu({}, gpu::Blocks::kept);
  Device& device = gpu.device();
  const std::int64_t heads = 1024 / head_size, width = heads * head_size;
  const std::int64_t batch = tokens_of_call / tokens;
  const Tensor qkv = repeated_noise({batch, tokens, 3 * width}, dtype, device, 0);
  const Tensor grad = repeated_noise({batch, tokens, width}, dtype, device, 1);
  const auto forward = ops::causal_attention(qkv, heads);
  Tensor slope;
  const double there = milliseconds_of(device, [&] { ops::causal_attention(qkv, heads); });
  const double back = milliseconds_of(
      device, [&] { slope = ops::causal_attention_backward(grad, qkv, forward, heads); });
  const auto norm = [](const Tensor& x) {
    return std::sqrt(number_of(ops::sum_of_squares(std::span(&x, 1))));
  };
  std::printf("| %s | %lld | %lld | %lld | %.3f | %.3f | %.6g | %.6g |\n",
              std::string(name_of(dtype)).c_str(), static_cast<long long>(head_size),
              static_cast<long long>(tokens), static_cast<long long>(batch), there, back,
              norm(forward.output), norm(slope));
  std::fflush(stdout);
}

}  // namespace

TEST_CASE("gpu: times of attention", "[.times]") {
  std::printf("| type | D | T | B | forward, ms | backward, ms | norm of output | of gradient |\n");
  for (const DType dtype : {DType::bfloat16, DType::float32, DType::float64}) {
    for (const std::int64_t head_size : {64, 128, 136}) {
      for (const std::int64_t tokens : {256, 512, 1024, 4096, 16'384}) {
        if (dtype != DType::float64 || tokens <= 4096) measure(tokens, head_size, dtype);
      }
    }
  }
}
