// One rank's part of the segment, given out in blocks. Only its owner gives out and takes back;
// peers read and write the blocks whose offsets they are told.
//
// Invariants
//   1. Free blocks are kept with their pages while they are no more than half of the most that was
//      out at once, plus 64 MiB; beyond that the pages of a block go back when it does.
//   2. A block that a peer may still look at is lent, not free: it comes back when a flag inside
//      the arena says so, and that flag is looked at when memory is asked for.
//   3. A block goes back when it has been given as often as it was taken and held.
//
// Thread: any; the mutex guards all members.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/comm/worlds/shm/segment.hpp"

namespace lockstep::comm::shm {

class Arena {
 public:
  Arena(std::shared_ptr<Segment> segment, int rank);

  Segment& segment() const { return *segment_; }

  // The offset of at least `bytes` bytes, aligned to 64, to a page from a page's size on; nothing
  // when the arena or the machine's memory is spent. Contents are whatever was there.
  std::optional<std::uint64_t> take(std::uint64_t bytes);
  void give(std::uint64_t offset) noexcept;
  // Holds the block in which `offset` lies, which somebody has taken. Returns the block's own
  // offset, to be given once more; nothing when it is no block of this arena.
  std::optional<std::uint64_t> hold(std::uint64_t offset);
  // Gives all of `blocks` once `released` is not zero; it lies in one of them.
  void give_when(std::vector<std::uint64_t> blocks, const std::atomic<std::uint32_t>& released);

  std::uint64_t bytes_out() const;
  std::uint64_t bytes_kept() const;

 private:
  struct Lent {
    std::vector<std::uint64_t> blocks;
    const std::atomic<std::uint32_t>* released;
  };

  struct Out {
    std::uint64_t bytes;
    int times = 1;  // taken and held
  };
  // A free block. `kept` of its bytes, at most, have pages.
  struct Free {
    std::uint64_t bytes, kept;
  };

  std::optional<std::uint64_t> take_free(std::uint64_t bytes);
  std::optional<std::uint64_t> take_new(std::uint64_t bytes);
  bool make_pages(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void give_locked(std::uint64_t offset) noexcept;
  void collect_lent() noexcept;
  void drop_pages(std::uint64_t offset, std::uint64_t bytes) noexcept;

  std::shared_ptr<Segment> segment_;
  mutable std::mutex mutex_;
  std::uint64_t end_;                   // what lies behind was never given out
  std::uint64_t limit_;                 // where the arena ends
  std::map<std::uint64_t, Out> out_;    // by offset
  std::map<std::uint64_t, Free> free_;  // by offset; no two are neighbours
  std::vector<Lent> lent_;
  std::uint64_t bytes_out_ = 0, bytes_out_most_ = 0, bytes_kept_ = 0;
};

}  // namespace lockstep::comm::shm
