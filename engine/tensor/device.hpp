// Where tensors live and what work on them costs. A Device owns the allocator and the counters;
// every tensor is made on one, explicitly, and every operation charges the one its operands are on.
// There is no default device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep {

// What a tensor's bytes are for; peak memory is reported by kind.
enum class MemoryKind : std::uint8_t {
  parameters,
  gradients,
  optimizer_state,
  activations,
  buffers
};
constexpr std::size_t memory_kinds = 5;
std::string_view name_of(MemoryKind kind);

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;
  // Whether its tensors have elements. Where they have none, allocate() gives nullptr.
  virtual bool has_numbers() const { return true; }

  // 64-byte aligned, uninitialised. Throws Error when the device's memory is spent.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* data, std::size_t bytes) noexcept = 0;

  // What an operation did: floating-point operations, and bytes read and written.
  // A simulated device turns this into virtual time.
  virtual void charge(double flops, double bytes);

  void account(MemoryKind kind, std::int64_t bytes_delta);
  std::int64_t bytes_now(MemoryKind kind) const { return now_[static_cast<std::size_t>(kind)]; }
  std::int64_t bytes_peak(MemoryKind kind) const { return peak_[static_cast<std::size_t>(kind)]; }
  double flops() const { return flops_; }
  double bytes_moved() const { return bytes_moved_; }

 private:
  std::array<std::int64_t, memory_kinds> now_{};
  std::array<std::int64_t, memory_kinds> peak_{};
  double flops_ = 0;
  double bytes_moved_ = 0;
};

// The host's memory and processor. Thread: one rank's strands use it one at a time.
class CpuDevice final : public Device {
 public:
  std::string_view name() const override { return "cpu"; }
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data, std::size_t bytes) noexcept override;
};

}  // namespace lockstep
