// Where tensors live and what work on them costs. A Device owns the allocator and the counters;
// every tensor is made on one, explicitly, and every operation charges the one its operands are on.
// There is no default device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "engine/tensor/block_cache.hpp"

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

class ContributorDevice;

// Bytes of memory and of movement are those of tensors: what an allocator adds by rounding is not
// in them. Thread: charge, account and the figures from any; the mutex guards the figures.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;
  // Whether its tensors have elements. Where they have none, allocate() gives nullptr.
  virtual bool has_numbers() const { return true; }
  // Itself, where elements are sets of ranks (contributors.hpp).
  virtual ContributorDevice* contributors() { return nullptr; }

  // 64-byte aligned, uninitialised. Throws Error when the device's memory is spent.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* data, std::size_t bytes) noexcept = 0;

  // What an operation did: floating-point operations, and bytes read and written.
  // A simulated device turns this into virtual time.
  virtual void charge(double flops, double bytes);
  double flops() const;
  double bytes_moved() const;

  void account(MemoryKind kind, std::int64_t bytes_delta);
  std::int64_t bytes_now(MemoryKind kind) const;
  std::int64_t bytes_peak(MemoryKind kind) const;
  // Of all kinds together. The peak is the sum's own: less than the sum of the kinds' peaks, which
  // need not fall together.
  std::int64_t bytes_now() const;
  std::int64_t bytes_peak() const;
  // From here on the peaks are those of what follows; they start at what is there now.
  void reset_peak();

 private:
  mutable std::mutex mutex_;
  std::array<std::int64_t, memory_kinds> now_{};
  std::array<std::int64_t, memory_kinds> peak_{};
  std::int64_t total_now_ = 0;
  std::int64_t total_peak_ = 0;
  double flops_ = 0;
  double bytes_moved_ = 0;
};

// The host's memory and processor. Thread: any; a loader's workers make their batches on the device
// on which the training runs.
class CpuDevice final : public Device {
 public:
  std::string_view name() const override { return "cpu"; }
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data, std::size_t bytes) noexcept override;

 private:
  BlockCache blocks_;
};

}  // namespace lockstep
