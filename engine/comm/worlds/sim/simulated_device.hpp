// The device of a simulated rank: what operations are charged becomes time of the rank's clock, and
// its memory ends where the modelled device's does.
//
//   time     an operation takes start + max(FLOPs / FLOP/s that are reached, bytes / bytes/s),
//            the roofline [WWP09]; operations run one after the other on the strand that asks for
//            them, so the clock of a rank's main strand is its compute stream
//   memory   bytes of tensors, as every device counts them; what is asked beyond throws OutOfMemory
//            with the account by kind
//   numbers  as on a CpuDevice, or none as on a SymbolicDevice
//
// Left out: what an allocator adds by rounding and fragments, memory of libraries and of the
// driver; kernels that overlap each other; FLOP/s that depend on an operation's sizes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/base/error.hpp"
#include "engine/sim/model/cluster.hpp"
#include "engine/sim/wire/request.hpp"
#include "engine/tensor/cpu/products.hpp"
#include "engine/tensor/device.hpp"

namespace lockstep::comm {

// The modelled device has not as much memory as the program asks for.
struct OutOfMemory : Error {
  using Error::Error;
};

enum class Elements : std::uint8_t { numbers, none };

class SimulatedDevice final : public Device {
 public:
  //   port      of the rank whose clock it moves; must outlive it
  //   computes  the type whose FLOP/s its operations reach
  //   products  how numbers are multiplied, which takes the host's time and none of the rank's
  SimulatedDevice(sim::Port& port, int rank, const sim::DeviceModel& model, DType computes,
                  Elements elements,
                  const kernels::Products& products = kernels::portable_products());

  std::string_view name() const override { return model_.name; }
  const Kernels& kernels() const override;
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data, std::size_t bytes) noexcept override;
  void charge(double flops, double bytes) override;
  // All that was charged. A rank that the simulator slows down takes so many times as long.
  double charged_s() const { return charged_s_; }
  // Called after every operation, by the strand that asked for it.
  void tell(std::function<void()> told) { told_ = std::move(told); }

 private:
  std::string out_of_memory(std::size_t asked) const;

  sim::Port& port_;
  int rank_;
  sim::DeviceModel model_;
  double flops_s_, bytes_s_;  // that it reaches
  double charged_s_ = 0;
  std::function<void()> told_;
  CpuDevice host_;  // where the elements lie
};

}  // namespace lockstep::comm
