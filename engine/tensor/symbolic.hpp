// A device whose tensors have a shape, a dtype, a place in the account of memory and a price, and
// no numbers. A program runs on it as on any other device, so that the memory and the work of a
// model far too large for this machine are counted by running it, not by a formula beside it.
//
//   memory    counted by kind as anywhere; nothing is allocated
//   work      operations charge what they would do, and do nothing
//   numbers   copy_, fill_, reduce_, scale_, clone, to and from_values charge only; what reads an
//             element (data, raw_bytes, item, a loss as a number) throws ContractError
#pragma once

#include "engine/tensor/device.hpp"
#include "engine/tensor/no_kernels.hpp"

namespace lockstep {

class SymbolicDevice : public Device {
 public:
  SymbolicDevice() : Device(Numbers::none) {}

  std::string_view name() const override { return "symbolic"; }
  const Kernels& kernels() const override { return no_kernels(); }
  std::byte* allocate(std::size_t) override { return nullptr; }
  void release(std::byte*, std::size_t) noexcept override {}
};

}  // namespace lockstep
