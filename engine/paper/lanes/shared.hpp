// The quick way through the shadow of shared memory: accesses that follow others of their own warp,
// or come after a barrier.
#pragma once

#include "engine/paper/lanes/warp.hpp"

namespace lockstep::paper {

inline constexpr std::uint32_t shared_epochs = 1U << 15;  // what fits into a trace

// The rules of check_shared(), where they find nothing.
template <Touch touch>
[[gnu::always_inline]] inline bool Block::check_shared_quickly(SharedCell& cell,
                                                               std::uint32_t bytes,
                                                               std::uint32_t thread) const {
  static_assert(touch != Touch::atomic);
  const std::uint32_t now = epoch % shared_epochs, warp = thread / warp_lanes;
  const SharedTrace write = cell.write, read = cell.read;
  const bool write_now = write.there && write.epoch == now,
             read_now = read.there && read.epoch == now;
  if (write_now && write.thread / warp_lanes != warp && (write.bytes & bytes) != 0) return false;
  SharedTrace mine;
  mine.thread = thread & 1023U;
  mine.epoch = now & (shared_epochs - 1);
  mine.bytes = bytes & 0xF;
  mine.there = 1;
  if constexpr (touch == Touch::read) {
    if ((cell.initialised & bytes) != bytes) return false;
    if (!read_now) {
      cell.read = mine;
      return true;
    }
    // What was read by the same warp, or by many, is noted already.
    return (read.thread / warp_lanes == warp || read.many_warps) && (read.bytes & bytes) == bytes &&
           (!read.many_warps || read.bytes == bytes);
  } else {
    const bool mine_alone = read.thread / warp_lanes == warp && !read.many_warps;
    if (read_now && !mine_alone && (read.bytes & bytes) != 0) return false;
    cell.write = mine;
    cell.initialised |= bytes;
    return true;
  }
}

template <Touch touch>
[[gnu::always_inline]] inline bool Block::touch_shared_quickly(std::uint64_t offset,
                                                               std::size_t bytes,
                                                               std::uint32_t thread) {
  if (offset >= shared.size() || bytes > shared.size() - offset) return false;
  if (!checks) return true;
  SharedCell* cell = &shadow[offset / 4];
  if (bytes < 4)
    return check_shared_quickly<touch>(*cell, ((1U << bytes) - 1) << (offset % 4), thread);
  for (std::size_t word = 0; word < bytes; word += 4, ++cell) {
    if (!check_shared_quickly<touch>(*cell, 0xF, thread)) return false;
  }
  return true;
}

}  // namespace lockstep::paper
