#include "engine/gpu/block_pool.hpp"

#include <algorithm>
#include <bit>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "engine/gpu/open_gpu.hpp"

namespace lockstep::gpu {

std::size_t BlockPool::class_of(std::size_t bytes) {
  constexpr std::size_t smallest = 512;
  const std::size_t step = std::max(smallest, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

BlockPool::~BlockPool() { return_all(); }

std::byte* BlockPool::take(std::size_t bytes) {
  std::byte* block = try_take(bytes);
  if (block == nullptr && bytes != 0) {
    throw GpuError(text("cuda: ", bytes_text(static_cast<std::int64_t>(bytes)),
                        " asked for a kernel's own use, but the GPU's memory is spent; make the "
                        "batch or the model smaller"));
  }
  return block;
}

std::byte* BlockPool::try_take(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::scoped_lock lock(mutex_);
  // A block that is not kept is as large as the tensor, so that paper sees where it ends.
  const std::size_t size = keep_ == Keep::blocks ? class_of(bytes) : bytes;
  std::byte* block = nullptr;
  auto& same_size = kept_[size];  // made here, so that give() only ever grows a list
  if (keep_ == Keep::blocks && !same_size.empty()) {
    block = same_size.back();
    same_size.pop_back();
    bytes_kept_ -= size;
  } else {
    block = source_.obtain(size);
    if (block == nullptr) {
      return_all();
      block = source_.obtain(size);
    }
  }
  if (block != nullptr) bytes_out_ += size;
  return block;
}

void BlockPool::give(std::byte* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  const std::scoped_lock lock(mutex_);
  const std::size_t size = keep_ == Keep::blocks ? class_of(bytes) : bytes;
  kept_[size].push_back(block);
  bytes_kept_ += size;
  bytes_out_ -= size;
  if (keep_ == Keep::nothing && bytes_kept_ > returned_together) return_all();
}

void BlockPool::settled() noexcept {
  const std::scoped_lock lock(mutex_);
  if (keep_ == Keep::nothing) return_all();
}

std::size_t BlockPool::bytes_kept() const {
  const std::scoped_lock lock(mutex_);
  return bytes_kept_;
}

std::size_t BlockPool::bytes_out() const {
  const std::scoped_lock lock(mutex_);
  return bytes_out_;
}

void BlockPool::return_all() noexcept {
  for (auto& [size, blocks] : kept_) {
    for (std::byte* block : blocks) source_.give_back(block);
    blocks.clear();
  }
  bytes_kept_ = 0;
}

}  // namespace lockstep::gpu
