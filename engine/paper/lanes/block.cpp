// The block's shared memory: bounds, what was never written, and races between its warps.
#include <algorithm>
#include <utility>

#include "engine/paper/lanes/shared.hpp"

namespace lockstep::paper {
namespace {

const char* shared_does(Touch touch) {
  return touch == Touch::read ? "reads" : touch == Touch::write ? "writes" : "updates";
}

}  // namespace

Where Block::where(std::uint32_t thread) const {
  Where where;
  where.kernel = *kernel;
  if (running != nullptr && running->file < files->size()) {
    where.file = (*files)[running->file];
    where.line = static_cast<int>(running->line);
  }
  where.block = index;
  where.thread = {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
  return where;
}

void Block::begin(std::uint32_t block_number) {
  number = block_number;
  index = {block_number % grid.x, block_number / grid.x % grid.y, block_number / grid.x / grid.y};
  epoch = 0;
  fault = Fault::none;
  std::ranges::fill(shared, std::byte{0xFF});
  std::ranges::fill(local, std::byte{0xFF});
  if (checks) std::ranges::fill(shadow, SharedCell{});
}

bool Block::touch_shared(Touch touch, std::uint64_t offset, std::size_t bytes,
                         std::uint32_t thread) {
  if (offset > shared.size() || bytes > shared.size() - offset) {
    tell(Kind::out_of_bounds, thread,
         std::string(shared_does(touch)) + " " + std::to_string(bytes) + " bytes at byte " +
             std::to_string(static_cast<std::int64_t>(offset)) +
             " of shared memory, of which the block has " + std::to_string(shared.size()) +
             " bytes; an index or the launch's shared size is wrong");
    return false;
  }
  if (!checks) return true;
  if (bytes < 4) {
    check_shared(touch, offset, ((1U << bytes) - 1) << (offset % 4), thread);
    return true;
  }
  for (std::size_t word = 0; word < bytes; word += 4)
    check_shared(touch, offset + word, 0xF, thread);
  return true;
}

void Block::check_shared(Touch touch, std::uint64_t offset, std::uint32_t bytes,
                         std::uint32_t thread) {
  SharedCell& cell = shadow[offset / 4];
  const std::uint32_t now = epoch % shared_epochs;
  const auto meets = [&](const SharedTrace& other) {
    return other.there && (other.bytes & bytes) != 0 && other.epoch == now;
  };
  const auto other_warp = [&](const SharedTrace& other) {
    return other.thread / warp_lanes != thread / warp_lanes;
  };
  if (meets(cell.write) && other_warp(cell.write) &&
      !(cell.write.atomic && touch == Touch::atomic)) {
    race(touch, cell.write, cell.write.atomic ? "updates" : "writes", offset, thread);
  }
  if (touch != Touch::read && meets(cell.read) && (other_warp(cell.read) || cell.read.many_warps)) {
    race(touch, cell.read, "reads", offset, thread);
  }
  if (touch != Touch::write && (cell.initialised & bytes) != bytes) {
    tell(Kind::uninitialised, thread,
         "a read of byte " + std::to_string(offset) +
             " of shared memory, which no thread of the block has written");
    cell.initialised |= bytes;
  }
  SharedTrace& mine = touch == Touch::read ? cell.read : cell.write;
  const bool together = mine.there && mine.epoch == now && (mine.bytes & bytes) != 0;
  if (touch == Touch::read && together && (other_warp(mine) || mine.many_warps)) {
    mine.bytes &= bytes & 0xF;
    mine.many_warps = 1;
    return;
  }
  mine.thread = thread & 1023U;
  mine.epoch = now & (shared_epochs - 1);
  mine.bytes = bytes & 0xF;
  mine.atomic = touch == Touch::atomic;
  mine.many_warps = 0;
  mine.there = 1;
  if (touch != Touch::read) cell.initialised |= bytes;
}

void Block::race(Touch touch, const SharedTrace& other, const char* other_did, std::uint64_t offset,
                 std::uint32_t thread) const {
  tell(Kind::shared_race, thread,
       std::string(shared_does(touch)) + " byte " + std::to_string(offset) +
           " of shared memory, which thread " + std::to_string(other.thread) + " of another warp " +
           other_did + "; no barrier is between the two: __syncthreads() is missing");
}

}  // namespace lockstep::paper
