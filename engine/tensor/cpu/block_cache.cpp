#include "engine/tensor/cpu/block_cache.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <utility>

namespace lockstep {
namespace {

constexpr std::align_val_t alignment{64};

// Blocks that hold whole huge pages begin on one: a matrix product walks over megabytes, and with
// small pages it waits for their addresses. The rest of such a block stays on small pages, so
// nothing is wasted. A system that has no huge pages refuses, which changes nothing.
constexpr std::size_t huge_page = 2 << 20;

std::align_val_t alignment_of(std::size_t bytes) {
  return bytes < huge_page ? alignment : std::align_val_t{huge_page};
}

std::byte* new_block(std::size_t bytes) {
  void* block = ::operator new(bytes, alignment_of(bytes), std::nothrow);
  if (block != nullptr && bytes >= huge_page) {
    ::madvise(block, bytes / huge_page * huge_page, MADV_HUGEPAGE);
  }
  return static_cast<std::byte*>(block);
}

void delete_block(void* block, std::size_t bytes) noexcept {
  ::operator delete(block, alignment_of(bytes));
}

}  // namespace

std::size_t BlockCache::rounded(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

// The build says so: cmake knows which sanitizers are on, whatever the compiler.
bool BlockCache::keeps_blocks() { return LOCKSTEP_KEEPS_BLOCKS; }

std::size_t BlockCache::bytes_kept() const {
  const std::scoped_lock lock(mutex_);
  return bytes_kept_;
}

BlockCache::~BlockCache() { drop_until_within(0); }

std::byte* BlockCache::take(std::size_t bytes) {
  // No object is larger than a pointer difference can say; some allocators abort when asked.
  if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) / 2) return nullptr;
  if (bytes < block_bytes_min || !keeps_blocks()) return new_block(bytes);
  const std::size_t size = rounded(bytes);
  const std::scoped_lock lock(mutex_);
  std::byte* block = take_kept(size);
  if (block == nullptr) {
    const std::size_t most = std::max(bytes_out_most_, bytes_out_ + size);
    drop_until_within(most + most / 2 - (bytes_out_ + size));
    block = new_block(size);
  }
  if (block == nullptr) {
    drop_until_within(0);
    block = new_block(size);
  }
  if (block == nullptr) return nullptr;
  bytes_out_ += size;
  bytes_out_most_ = std::max(bytes_out_most_, bytes_out_);
  return block;
}

std::byte* BlockCache::take_kept(std::size_t size) {
  Kept*& first = kept_[size];  // made here, so that give() need not allocate
  if (first == nullptr) return nullptr;
  bytes_kept_ -= size;
  return reinterpret_cast<std::byte*>(std::exchange(first, first->next));
}

void BlockCache::give(std::byte* block, std::size_t bytes) noexcept {
  if (bytes < block_bytes_min || !keeps_blocks()) return delete_block(block, bytes);
  const std::size_t size = rounded(bytes);
  const std::scoped_lock lock(mutex_);
  Kept*& first = kept_.find(size)->second;
  first = new (block) Kept{first};
  bytes_kept_ += size;
  bytes_out_ -= size;
}

void BlockCache::drop_until_within(std::size_t bytes) noexcept {
  for (auto list = kept_.rbegin(); list != kept_.rend() && bytes_kept_ > bytes; ++list) {
    while (list->second != nullptr && bytes_kept_ > bytes) {
      Kept* block = std::exchange(list->second, list->second->next);
      bytes_kept_ -= list->first;
      delete_block(block, list->first);
    }
  }
}

}  // namespace lockstep
