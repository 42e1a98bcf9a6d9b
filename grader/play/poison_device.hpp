// A CPU device whose fresh memory is poisoned: every byte 0xFF, which is a NaN in every
// floating-point type and -1 in the signed integers. A part that reads what it never wrote shows it
// in its result.
//
// Behind each allocation lies a guard of other bytes. A part that writes past the end of a tensor
// changes it, and is told so when the case is over, also where no sanitizer runs. Left out: what is
// written before the beginning, further away than the guard, or into memory of the part's own.
// Under a sanitizer the guard must not be touched at all: reads are found as well, with the line.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>

#include "engine/base/error.hpp"
#include "engine/tensor/device.hpp"
#include "grader/play/case_world.hpp"

// Functions of the sanitizer's runtime. Under --sanitize it is in the player, though only the
// student's file is compiled for it.
extern "C" __attribute__((weak)) void __asan_poison_memory_region(const volatile void*,
                                                                  std::size_t);
extern "C" __attribute__((weak)) void __asan_unpoison_memory_region(const volatile void*,
                                                                    std::size_t);

namespace lockstep::grader {

enum class SharesMemory : std::uint8_t { no, yes };

class PoisonDevice final : public Device {
 public:
  explicit PoisonDevice(SharesMemory shares = SharesMemory::no)
      : Device(Numbers::on_host), shares_memory_(shares == SharesMemory::yes) {}

  std::string_view name() const override { return "poisoned cpu"; }
  const Kernels& kernels() const override { return memory_.kernels(); }
  std::byte* allocate(std::size_t bytes) override {
    std::byte* data = allocate_block(bytes + guard_bytes);
    if (bytes > 0) std::memset(data, 0xFF, bytes);
    std::memset(data + bytes, guard, guard_bytes);
    close_guard(data + bytes);
    const std::scoped_lock lock(mutex_);
    held_[data] = bytes;
    held_bytes_ += static_cast<std::int64_t>(bytes);
    return data;
  }
  void release(std::byte* data, std::size_t bytes) noexcept override {
    open_guard(data + bytes);
    {
      const std::scoped_lock lock(mutex_);
      look_behind(data, bytes);
      if (held_.erase(data) > 0) held_bytes_ -= static_cast<std::int64_t>(bytes);
    }
    release_block(data, bytes + guard_bytes);
  }

  // The bytes of the blocks that are held. It is an adapter's advice for a student, and no
  // evidence: whoever wants to can write over it. What a player holds is counted by the judge.
  std::int64_t held_bytes() {
    const std::scoped_lock lock(mutex_);
    require_true_account();
    return held_bytes_;
  }

  //   Throws  Error when something was written past the end of a tensor on this device, or when the
  //           device's account is another one than that of the blocks it gave out
  void require_intact() {
    const std::scoped_lock lock(mutex_);
    require_true_account();
    if (!guards_are_closed()) {
      for (const auto& [data, bytes] : held_) look_behind(data, bytes);
    }
    if (!damaged_) return;
    throw Error(text("something was written past the end of a tensor of ", damaged_bytes_,
                     damaged_bytes_ == 1 ? " byte, up to " : " bytes, up to ", behind_bytes_,
                     behind_bytes_ == 1 ? " byte behind it;" : " bytes behind it;",
                     " is the last part of it shorter than the others?"));
  }

 private:
  static constexpr std::size_t guard_bytes = 256;
  // From this size on, a block is a mapping of its own, which is gone when it is released: what the
  // system counts as the player's memory is what its tensors are.
  static constexpr std::size_t mapped_bytes_min = 32 << 10;

  std::byte* allocate_block(std::size_t bytes) {
    if (bytes < mapped_bytes_min) return memory_.allocate(bytes);
    // All of it is written at once: pages that come together take two thirds of the time.
    void* block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (block == MAP_FAILED) throw OutOfMemory(text("no memory for a tensor of ", bytes, " bytes"));
    return static_cast<std::byte*>(block);
  }
  void release_block(std::byte* data, std::size_t bytes) noexcept {
    if (bytes < mapped_bytes_min) return memory_.release(data, bytes);
    ::munmap(data, bytes);
  }
  // Tensors over memory that somebody else made (over_memory) are in the account, and are no blocks
  // of the device. They are only there where ranks share memory.
  void require_true_account() const {
    if (bytes_now() >= held_bytes_ && (shares_memory_ || bytes_now() == held_bytes_)) return;
    throw Error(
        text("the device's account says that its tensors have ", bytes_now(),
             " bytes, but their blocks have ", held_bytes_,
             ": a tensor outlived its device, as in a static variable, or something else than a "
             "tensor changed the account"));
  }
  static constexpr unsigned char guard = 0xFD;

  static bool guards_are_closed() { return __asan_poison_memory_region != nullptr; }
  static void close_guard(const std::byte* at) {
    if (guards_are_closed()) __asan_poison_memory_region(at, guard_bytes);
  }
  static void open_guard(const std::byte* at) {
    if (guards_are_closed()) __asan_unpoison_memory_region(at, guard_bytes);
  }

  void look_behind(const std::byte* data, std::size_t bytes) noexcept {
    if (damaged_) return;
    const auto begin = data + bytes, end = begin + guard_bytes;
    const auto* last = end;
    while (last != begin && last[-1] == std::byte{guard}) --last;
    if (last == begin) return;
    damaged_ = true;
    damaged_bytes_ = bytes;
    behind_bytes_ = static_cast<std::size_t>(last - begin);
  }

  CpuDevice memory_;
  const bool shares_memory_;
  std::mutex mutex_;  // of all below: real processes have strands that are threads
  std::map<const std::byte*, std::size_t> held_;
  std::int64_t held_bytes_ = 0;
  bool damaged_ = false;
  std::size_t damaged_bytes_ = 0, behind_bytes_ = 0;  // of the first tensor that was found
};

// A world of tensors on the processor.
class PoisonedWorld : public CaseWorld {
 public:
  explicit PoisonedWorld(SharesMemory shares = SharesMemory::no) : device_(shares) {}
  Device& device() override { return device_; }
  void require_intact() override { device_.require_intact(); }

 private:
  PoisonDevice device_;
};

}  // namespace lockstep::grader
