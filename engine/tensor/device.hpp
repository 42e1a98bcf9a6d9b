// Devices: where tensors live, and what work on them costs. A Device owns the allocator and the
// counters; every tensor is made on one, explicitly; every operation is carried out by the kernels
// of the one its operands are on, and charged to it. There is no default device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

namespace lockstep {

// The purpose of a tensor's bytes; peak memory is reported by kind.
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
class Kernels;
class Storage;
namespace kernels {
struct Products;
}

// The place of the elements of a device's tensors: memory that the host reads; memory that only the
// device's kernels read; nowhere.
enum class Numbers : std::uint8_t { on_host, away, none };

// Bytes of memory and of movement are those of tensors: what an allocator adds by rounding is not
// in them. Thread: charge and the figures from any; the mutex guards the figures.
class Device {
 public:
  explicit Device(Numbers numbers) : numbers_(numbers) {}
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;
  // If its tensors have no elements, allocate() returns nullptr. Every message asks for this.
  Numbers numbers() const { return numbers_; }
  bool has_numbers() const { return numbers() != Numbers::none; }
  bool on_host() const { return numbers() == Numbers::on_host; }
  virtual const Kernels& kernels() const = 0;
  // Itself, where elements are sets of ranks (contributors.hpp).
  virtual ContributorDevice* contributors() { return nullptr; }

  // 64-byte aligned, uninitialised. Throws Error when the device's memory is spent. What is
  // released may be given out again at once: kernels that were launched before come first.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* data, std::size_t bytes) noexcept = 0;

  // Charges an operation: floating-point operations, and bytes read and written. A simulated device
  // turns this into virtual time.
  //   Throws  ContractError for a price below 0, infinite or NaN
  virtual void charge(double flops, double bytes);
  double flops() const;
  double bytes_moved() const;

  // For a device that is away: its tensors' copies on the host are made there.
  virtual Device& host() { return *this; }
  // Waits until all that was launched is done. Throws what a kernel has found since the last time,
  // the first of it; what is found after the last time is never told.
  void settle();
  std::int64_t host_reads() const;  // how often that was

  std::int64_t bytes_now(MemoryKind kind) const;
  std::int64_t bytes_peak(MemoryKind kind) const;
  // The bytes of all kinds together. The peak is that of the sum: less than the sum of the kinds'
  // peaks, which need not fall together.
  std::int64_t bytes_now() const;
  std::int64_t bytes_peak() const;
  // From here on the peaks are those of what follows; they start at what is there now.
  void reset_peak();

 private:
  friend class Storage;  // of a tensor: whoever holds bytes says so, and nobody else
  void account(MemoryKind kind, std::int64_t bytes_delta);
  virtual void finish() {}  // what settle() does

  const Numbers numbers_;
  mutable std::mutex mutex_;
  std::int64_t host_reads_ = 0;
  std::array<std::int64_t, memory_kinds> now_{};
  std::array<std::int64_t, memory_kinds> peak_{};
  std::int64_t total_now_ = 0;
  std::int64_t total_peak_ = 0;
  double flops_ = 0;
  double bytes_moved_ = 0;
};

class BlockCache;

// The host's memory and processor. Thread: any; a loader's workers make their batches on the device
// on which the training runs.
class CpuDevice final : public Device {
 public:
  CpuDevice();  // multiplies matrices without a library, to the same bits everywhere
  explicit CpuDevice(const kernels::Products& products);
  ~CpuDevice() override;

  std::string_view name() const override { return "cpu"; }
  const Kernels& kernels() const override { return *kernels_; }
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data, std::size_t bytes) noexcept override;

 private:
  std::unique_ptr<BlockCache> blocks_;
  std::unique_ptr<const Kernels> kernels_;
};

}  // namespace lockstep
