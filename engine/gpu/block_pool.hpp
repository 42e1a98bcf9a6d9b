// Memory of a device that is kept when it is released, and given out again. To ask CUDA takes a
// microsecond for a small block and a millisecond for a large one, and to give it back waits for
// the whole device.
//
// All work goes to one stream, so a block is given out again at once: what was launched before on
// it comes first.
//
// Invariants
//   1. A block's size is its request rounded up to a class: an eighth of its power of two apart,
//      512 bytes at least. So at most an eighth is lost, beyond 4 KiB.
//   2. A request that CUDA refuses gives all kept blocks back, and is made once more.
//   3. Where blocks are not kept, each goes back to CUDA: when the device has been waited for, or
//      when 64 MiB have come together.
//
// Thread: any; the mutex guards the lists and the sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace lockstep::gpu {

// The source of the blocks.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  virtual std::byte* obtain(std::size_t bytes) = 0;       // nullptr when the memory is spent
  virtual void give_back(std::byte* block) noexcept = 0;  // waits for what uses it
};

class BlockPool {
 public:
  enum class Keep : std::uint8_t { blocks, nothing };
  static constexpr std::size_t returned_together = std::size_t{64} << 20;

  BlockPool(BlockSource& source, Keep keep) : source_(source), keep_(keep) {}
  ~BlockPool();  // gives back what it holds; not what is out
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // 256-byte aligned, uninitialised; nullptr for no bytes.
  //   Throws  GpuError when the memory is spent
  std::byte* take(std::size_t bytes);
  std::byte* try_take(std::size_t bytes);                   // nullptr when the memory is spent
  void give(std::byte* block, std::size_t bytes) noexcept;  // `bytes` as at take()
  // The device was waited for: what was released goes back where nothing is kept.
  void settled() noexcept;

  static std::size_t class_of(std::size_t bytes);
  std::size_t bytes_kept() const;
  std::size_t bytes_out() const;

 private:
  void return_all() noexcept;  // under the mutex

  BlockSource& source_;
  const Keep keep_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>>
      kept_;  // by size; waiting to go back, or for reuse
  std::size_t bytes_kept_ = 0;
  std::size_t bytes_out_ = 0;
};

}  // namespace lockstep::gpu
