// A device whose operations take the time that they would take, and nothing else: tensors have no
// numbers, and whoever asks for an operation waits. So more ranks than the machine has cores can
// show what their schedule and their communication cost.
#pragma once

#include <chrono>

#include "engine/tensor/symbolic.hpp"

namespace lockstep {

class WaitingDevice final : public SymbolicDevice {
 public:
  //   flops_s  floating-point operations in a second; more than 0
  explicit WaitingDevice(double flops_s);

  std::string_view name() const override { return "waiting"; }
  // Waits for flops / flops_s, counted from the end of the operation before, where that follows at
  // once: what the machine sleeps too long is not slept again. Moved bytes cost nothing.
  //   Thread  one at a time
  void charge(double flops, double bytes) override;

 private:
  double flops_s_;
  double owed_s_ = 0;  // too short to sleep
};

// The FLOP/s that products of this machine's kernels reach on one core: 384 rows and columns,
// float32, the best of 0.2 s.
double measured_flops_s(Device& device);

}  // namespace lockstep
