// Memory of the host that is kept when it is released, and given out again. A training step asks
// for the same sizes every time; the kernel hands out large blocks as untouched pages, each of
// which costs a fault and 4 KiB of zeros at its first use.
//
// Invariants
//   1. A block under `block_bytes_min` comes from operator new and goes back to it: malloc keeps
//      those well. A larger one is rounded up to a multiple of an eighth of its power of two, and
//      so of a page: at most an eighth more than was asked.
//   2. Blocks out and blocks kept together are at most half more than the most that was out at
//      once. A request for more, and one that operator new refuses, first gives kept blocks
//      back, the largest first.
//   3. Under a sanitizer nothing is kept: it must see that released memory is not used any more.
//
// Thread: any; the mutex guards the lists and the sums. Memory is aligned to 64 bytes: a cache
// line, and the widest vector register.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace lockstep {

class BlockCache {
 public:
  static constexpr std::size_t block_bytes_min = 64 * 1024;

  BlockCache() = default;
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // At least `bytes`, uninitialised; nullptr when the memory is spent.
  std::byte* take(std::size_t bytes);
  // `bytes` as at take().
  void give(std::byte* block, std::size_t bytes) noexcept;

  static std::size_t rounded(std::size_t bytes);
  static bool keeps_blocks();  // no under a sanitizer
  std::size_t bytes_kept() const;

 private:
  // Written into the first bytes of a kept block.
  struct Kept {
    Kept* next;
  };

  std::byte* take_kept(std::size_t size);
  void drop_until_within(std::size_t bytes) noexcept;

  mutable std::mutex mutex_;
  std::map<std::size_t, Kept*> kept_;  // by size; a list may be empty
  std::size_t bytes_kept_ = 0;
  std::size_t bytes_out_ = 0;  // of the blocks that are kept when they come back
  std::size_t bytes_out_most_ = 0;
};

}  // namespace lockstep
