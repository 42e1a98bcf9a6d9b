// The quick way through the shadow of shared memory: accesses that follow others of their own warp,
// or come after a barrier.
#pragma once

#include <bit>

#include "engine/paper/lanes/warp.hpp"

namespace lockstep::paper {

inline constexpr std::uint32_t shared_epochs = 1U << 15;  // what fits into a trace

// A trace as one word: fields are compared together, whatever their places in it are.
inline std::uint32_t word_of(Block::SharedTrace trace) {
  return std::bit_cast<std::uint32_t>(trace);
}

// The rules of check_shared(), where they find nothing.
template <Touch touch>
[[gnu::always_inline]] inline bool Block::check_shared_quickly(SharedCell& cell,
                                                               std::uint32_t bytes,
                                                               std::uint32_t thread) const {
  static_assert(touch != Touch::atomic);
  const SharedTrace mine{.thread = thread & 1023U,
                         .epoch = epoch & (shared_epochs - 1),
                         .bytes = bytes & 0xF,
                         .there = 1};
  const std::uint32_t now = word_of({.epoch = shared_epochs - 1, .there = 1});
  const std::uint32_t which_warp = word_of({.thread = 1024 - warp_lanes});
  const std::uint32_t overlap = word_of({.bytes = bytes & 0xF}), all = word_of({.bytes = 0xF});
  const std::uint32_t many = word_of({.many_warps = 1});
  const std::uint32_t write = word_of(cell.write), read = word_of(cell.read), self = word_of(mine);
  const auto since_barrier = [&](std::uint32_t other) { return ((other ^ self) & now) == 0; };
  const auto other_warp = [&](std::uint32_t other) { return ((other ^ self) & which_warp) != 0; };
  if (since_barrier(write) && other_warp(write) && (write & overlap) != 0) return false;
  if constexpr (touch == Touch::read) {
    if ((cell.initialised & bytes) != bytes) return false;
    if (!since_barrier(read)) {
      cell.read = mine;
      return true;
    }
    // A read by the same warp, or by many, is noted already.
    return (read & many) != 0 ? (read & all) == overlap
                              : !other_warp(read) && (read & overlap) == overlap;
  } else {
    const bool of_others = other_warp(read) || (read & many) != 0;
    if (since_barrier(read) && of_others && (read & overlap) != 0) return false;
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
