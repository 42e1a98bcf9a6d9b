#include "engine/tensor/waiting_device.hpp"

#include <algorithm>
#include <thread>

#include "engine/base/error.hpp"
#include "engine/base/stopwatch.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep {
namespace {

// Shorter waits are put together: to fall asleep and wake up takes some 50 µs.
constexpr double worth_sleeping_s = 1e-3;

}  // namespace

WaitingDevice::WaitingDevice(double flops_s) : flops_s_(flops_s) {
  LOCKSTEP_CHECK(flops_s > 0, "a waiting device of ", flops_s, " FLOP/s would wait for ever");
}

void WaitingDevice::charge(double flops, double bytes) {
  SymbolicDevice::charge(flops, bytes);
  owed_s_ += flops / flops_s_;
  if (owed_s_ < worth_sleeping_s) return;
  const Stopwatch slept;
  std::this_thread::sleep_for(std::chrono::duration<double>(owed_s_));
  owed_s_ -= slept.seconds();  // negative where it slept too long: the next is shorter
}

double measured_flops_s(Device& device) {
  constexpr std::int64_t size = 384;
  const Tensor a = full({size, size}, 1, DType::float32, device);
  const Tensor b = full({size, size}, 0.5, DType::float32, device);
  double best_s = 1e9;
  const Stopwatch all;  // the first products also make what later ones find
  while (all.seconds() < 0.2) {
    const Stopwatch one;
    const Tensor product = ops::matmul(a, ops::Transpose::no, b, ops::Transpose::no);
    best_s = std::min(best_s, one.seconds());
  }
  return 2.0 * size * size * size / best_s;
}

}  // namespace lockstep
