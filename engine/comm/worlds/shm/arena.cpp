#include "engine/comm/worlds/shm/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace lockstep::comm::shm {

namespace {

constexpr std::uint64_t kept_always_bytes = 64ULL << 20;
constexpr std::uint64_t populate_bytes_min = 256ULL << 10;

}  // namespace

Arena::Arena(std::shared_ptr<Segment> segment, int rank)
    : segment_(std::move(segment)),
      end_(segment_->arena_at(rank)),
      limit_(end_ + segment_->arena_bytes()) {}

std::optional<std::uint64_t> Arena::take(std::uint64_t bytes) {
  bytes = round_up(std::max<std::uint64_t>(bytes, 1), bytes < page_bytes ? 64 : page_bytes);
  const std::scoped_lock lock(mutex_);
  collect_lent();
  std::optional<std::uint64_t> offset = take_free(bytes);
  if (!offset) offset = take_new(bytes);
  if (!offset) return {};
  out_[*offset] = {bytes};
  bytes_out_ += bytes;
  bytes_out_most_ = std::max(bytes_out_most_, bytes_out_);
  return offset;
}

// From the smallest free block that is large enough.
std::optional<std::uint64_t> Arena::take_free(std::uint64_t bytes) {
  const std::uint64_t alignment = bytes < page_bytes ? 64 : page_bytes;
  auto best = free_.end();
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    const std::uint64_t lost = round_up(block->first, alignment) - block->first;
    if (block->second.bytes < lost + bytes) continue;
    if (best == free_.end() || block->second.bytes < best->second.bytes) best = block;
  }
  if (best == free_.end()) return {};
  const std::uint64_t start = best->first, end = start + best->second.bytes;
  const std::uint64_t offset = round_up(start, alignment);
  const std::uint64_t kept = best->second.kept;
  if (kept < best->second.bytes && !make_pages(offset, bytes)) return {};
  free_.erase(best);
  bytes_kept_ -= kept;
  // Pages that are kept are thought to lie first; a sum that is too high gives pages back early.
  if (offset > start) free_[start] = {offset - start, 0};
  if (offset + bytes < end) {
    const std::uint64_t rest = kept > offset + bytes - start ? kept - (offset + bytes - start) : 0;
    free_[offset + bytes] = {end - offset - bytes, rest};
    bytes_kept_ += rest;
  }
  return offset;
}

std::optional<std::uint64_t> Arena::take_new(std::uint64_t bytes) {
  const std::uint64_t offset = round_up(end_, bytes < page_bytes ? 64 : page_bytes);
  if (offset + bytes > limit_ || !make_pages(offset, bytes)) return {};
  end_ = offset + bytes;
  return offset;
}

// Makes the pages of a large block in one call, which is faster than a fault for each; memory that
// is spent is an answer then, not a signal.
bool Arena::make_pages(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (bytes < populate_bytes_min) return true;
  if (madvise(segment_->at(offset), bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno == EINVAL) return true;  // a kernel before 5.14 makes them one by one
  drop_pages(offset, bytes);
  return false;
}

void Arena::give(std::uint64_t offset) noexcept {
  const std::scoped_lock lock(mutex_);
  give_locked(offset);
}

void Arena::give_locked(std::uint64_t offset) noexcept {
  const auto block = out_.find(offset);
  if (--block->second.times > 0) return;
  Free free{block->second.bytes, block->second.bytes};
  out_.erase(block);
  bytes_out_ -= free.bytes;
  bytes_kept_ += free.kept;
  // Neighbours become one block.
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && offset + free.bytes == after->first) {
    free = {free.bytes + after->second.bytes, free.kept + after->second.kept};
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second.bytes == offset) {
      offset = before->first;
      free = {free.bytes + before->second.bytes, free.kept + before->second.kept};
      free_.erase(before);
    }
  }
  if (bytes_kept_ > bytes_out_most_ / 2 + kept_always_bytes) {
    drop_pages(offset, free.bytes);
    bytes_kept_ -= free.kept;
    free.kept = 0;
  }
  if (free.kept == 0 && offset + free.bytes == end_) {
    end_ = offset;
  } else {
    free_[offset] = free;
  }
}

std::optional<std::uint64_t> Arena::hold(std::uint64_t offset) {
  const std::scoped_lock lock(mutex_);
  auto block = out_.upper_bound(offset);
  if (block == out_.begin()) return {};
  --block;
  if (offset >= block->first + block->second.bytes) return {};
  ++block->second.times;
  return block->first;
}

void Arena::give_when(std::vector<std::uint64_t> blocks,
                      const std::atomic<std::uint32_t>& released) {
  const std::scoped_lock lock(mutex_);
  lent_.push_back({std::move(blocks), &released});
  collect_lent();
}

void Arena::collect_lent() noexcept {
  std::erase_if(lent_, [&](const Lent& lent) {
    // acquire: the peer that set the flag has done with the blocks.
    if (lent.released->load(std::memory_order_acquire) == 0) return false;
    for (const std::uint64_t block : lent.blocks) give_locked(block);
    return true;
  });
}

// Whole pages inside the range; what remains at the edges belongs to neighbours too.
void Arena::drop_pages(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const std::uint64_t first = round_up(offset, page_bytes);
  const std::uint64_t last = (offset + bytes) / page_bytes * page_bytes;
  if (first >= last) return;
  fallocate(segment_->file().get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(first), static_cast<off_t>(last - first));
}

std::uint64_t Arena::bytes_out() const {
  const std::scoped_lock lock(mutex_);
  return bytes_out_;
}

std::uint64_t Arena::bytes_kept() const {
  const std::scoped_lock lock(mutex_);
  return bytes_kept_;
}

}  // namespace lockstep::comm::shm
