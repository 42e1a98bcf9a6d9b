// A device whose memory the host cannot read, for tests without a GPU: what works on it copies at
// every border. One piece of memory is mapped twice. Tensors have addresses of the first mapping,
// where every access is a fault; kernels use the second, the alias.
//
//   launches  queue up, and are carried out when the host reads: it runs as far ahead as it can
//   memory    is reused in the order of launches, as by an allocator that knows its one stream, so
//             that peaks are those of any other device; fresh memory is full of 0xFF
//   kernels   the CPU's, on the aliases: the same bits
//
// What a launch throws is kept, the first of it, and thrown by the next settle().
//   Thread  any
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "engine/tensor/tensor.hpp"

namespace lockstep::test {

class FarDevice final : public Device {
 public:
  static constexpr std::size_t usual_bytes = std::size_t{256} << 20;

  // Memory is taken as it is touched.
  explicit FarDevice(std::size_t bytes = usual_bytes);
  ~FarDevice() override;  // what was launched and never asked for is dropped

  std::string_view name() const override { return "far"; }
  const Kernels& kernels() const override { return *kernels_; }
  Device& host() override { return host_; }
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data, std::size_t bytes) noexcept override;

  // Behind all that was launched before.
  void launch(std::function<void()> work) const;
  // Carries out what was launched, throws nothing and is no read: for the kernels, and for a
  // transport that works in the order of launches.
  void catch_up() const;
  std::size_t launches_waiting() const;

  // The same elements, for kernels and transports; undefined of an undefined tensor.
  //   Throws  ContractError for a tensor of another device
  Tensor alias_of(const Tensor& tensor) const;
  const Kernels& kernels_of_alias() const { return work_.kernels(); }

 private:
  void finish() override;

  CpuDevice host_;          // outlives all else: its tensors are copies that tests keep
  mutable CpuDevice work_;  // of the aliases
  std::size_t bytes_;
  std::byte* far_;
  std::byte* alias_;
  std::unique_ptr<const Kernels> kernels_;

  mutable std::mutex mutex_;                 // guards all below
  std::map<std::size_t, std::size_t> free_;  // offset → bytes, none next to another
  mutable std::deque<std::function<void()>> queue_;
  mutable std::exception_ptr found_;
};

}  // namespace lockstep::test
