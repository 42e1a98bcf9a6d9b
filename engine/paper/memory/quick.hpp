// The shadow's record of an access, and the quick way through it: most accesses follow others of
// their own warp, or of operations that are known to come before.
#pragma once

#include "engine/paper/memory/memory.hpp"

namespace lockstep::paper {

// The number of epochs that fit into a trace. Past so many barriers, a race can be missed.
inline constexpr std::uint32_t trace_epochs = 1U << 13;

inline bool same_warp(const Trace& trace, const Toucher& toucher) {
  return trace.thread / 32 == toucher.thread / 32;
}
inline bool same_interval(const Trace& trace, const Toucher& toucher) {
  return trace.epoch == toucher.epoch % trace_epochs;
}
inline Trace trace_of(std::uint32_t bytes, const Toucher& toucher) {
  Trace trace;
  trace.operation = toucher.operation;
  trace.block = toucher.block;
  trace.thread = toucher.thread % 1024;
  trace.epoch = toucher.epoch % trace_epochs;
  trace.bytes = bytes & 0xF;
  return trace;
}

// Keeps the first of several readers, with a mark that there are more, and the bytes that all of
// them read.
inline void Memory::note_read(Trace& read, std::uint32_t bytes, const Toucher& toucher) {
  if (read.operation != toucher.operation) {
    read = trace_of(bytes, toucher);
    return;
  }
  const bool same_block = read.block == toucher.block;
  if (same_block && same_interval(read, toucher) && same_warp(read, toucher)) {
    if (!read.many_warps && !read.many_blocks) read.bytes |= bytes & 0xF;
    return;
  }
  if ((read.bytes & bytes) == 0) {
    read = trace_of(bytes, toucher);
  } else if (!same_block) {
    read.bytes &= bytes & 0xF;
    read.many_blocks = 1;
  } else if (same_interval(read, toucher)) {
    read.bytes &= bytes & 0xF;
    read.many_warps = 1;
  } else {
    const std::uint32_t many_blocks = read.many_blocks;
    const std::uint32_t shared = many_blocks ? read.bytes & bytes : bytes;
    read = trace_of(shared, toucher);
    read.many_blocks = many_blocks & 1U;
  }
}

// The rules of check(), where they find nothing.
template <Touch touch>
[[gnu::always_inline]] inline bool Memory::check_quickly(Cell& cell, std::uint32_t bytes,
                                                         const Toucher& toucher) {
  static_assert(touch != Touch::atomic);
  Trace& write = cell.write;
  const Trace& read = cell.read;
  if (write.operation != 0 && (write.bytes & bytes) != 0) {
    const bool fine = write.operation == toucher.operation
                          ? write.block == toucher.block &&
                                (same_warp(write, toucher) || !same_interval(write, toucher))
                          : known_before(write.operation, toucher.operation);
    if (!fine) return false;
  }
  if constexpr (touch == Touch::read) {
    if ((cell.initialised & bytes) != bytes) return false;
    note_read(cell.read, bytes, toucher);
  } else {
    if (read.operation != 0 && (read.bytes & bytes) != 0) {
      const bool fine = read.operation == toucher.operation
                            ? read.block == toucher.block && !read.many_blocks &&
                                  (!same_interval(read, toucher) ||
                                   (same_warp(read, toucher) && !read.many_warps))
                            : known_before(read.operation, toucher.operation);
      if (!fine) return false;
    }
    const bool again = write.operation == toucher.operation && write.block == toucher.block &&
                       write.thread == toucher.thread && same_interval(write, toucher) &&
                       !write.atomic;
    write = trace_of(again ? write.bytes | bytes : bytes, toucher);
    cell.initialised |= bytes;
  }
  return true;
}

template <Touch touch>
[[gnu::always_inline]] inline bool Memory::touch_quickly(std::uint64_t address, std::size_t bytes,
                                                         const Toucher& toucher) {
  if (address < cached_begin_ || address >= cached_end_ || bytes > cached_end_ - address)
    return false;
  if (!checks_) return true;
  Cell* cell = this->cell(address);
  if (bytes < 4) return check_quickly<touch>(*cell, ((1U << bytes) - 1) << (address % 4), toucher);
  for (std::size_t word = 0; word < bytes; word += 4, ++cell) {
    if (!check_quickly<touch>(*cell, 0xF, toucher)) return false;
  }
  return true;
}

}  // namespace lockstep::paper
